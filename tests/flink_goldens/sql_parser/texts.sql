CREATE TABLE orders (
  id BIGINT,
  product STRING, -- the name
  price DECIMAL(10, 2) COMMENT 'in euros',
  ts TIMESTAMP(3),
  total AS price * 2,
  origin STRING METADATA FROM 'topic' VIRTUAL,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
  CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'all orders'
PARTITIONED BY (product)
WITH (
  'connector' = 'kafka',
  'value.format' = 'json'
)
;;
SELECT
  a, -- first
  b  /* second */
FROM t
WHERE a > 1
;;
SELECT 'a'
       'b'
;;
SELECT 'line
break'
;;
SELECT `line
break` FROM t
;;
EXECUTE STATEMENT SET
BEGIN
  INSERT INTO a SELECT * FROM s;
  INSERT INTO b SELECT * FROM s;
END;
;;
SELECT *
FROM Ticker
    MATCH_RECOGNIZE (
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            START_ROW.rowtime AS start_tstamp,
            LAST(PRICE_DOWN.rowtime) AS bottom_tstamp
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO LAST PRICE_UP
        PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
        DEFINE
            PRICE_DOWN AS
                (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
                    PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
            PRICE_UP AS
                PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
    ) MR
;;
WITH
  q AS (
    SELECT bidder, COUNT(*) AS n
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY bidder, window_start, window_end
  )
SELECT * FROM q WHERE n >= (SELECT MAX(n) FROM q)
;;
SELECT a
FROM t
WHERE b = 'x
;;
CREATE TABLE t (
  a INT
  b INT
)
;;
INSERT INTO sink
SELECT o.id, s.id
FROM orders o
LEFT JOIN shipments FOR SYSTEM_TIME AS OF o.proc AS s
  ON o.id = s.order_id AND s.state IN ('sent', 'lost')
