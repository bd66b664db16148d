import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** The program of programs.py with Flink's library, on a cluster in this process. Prints seconds per run. */
public class CardFraud {
    public static void main(String[] arguments) throws Exception {
        for (String records : arguments) {
            long started = System.nanoTime();
            run(Long.parseLong(records), 10_000);
            System.out.println(records + " " + (System.nanoTime() - started) / 1e9);
        }
        System.exit(0);
    }

    private static void run(long records, long cards) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(2, new Configuration());
        env.getConfig().enableObjectReuse();
        DataStream<Tuple3<Long, Long, Long>> payments =
                env.fromSequence(0, records - 1)
                        .map(number -> {
                            long mixed = number * 2654435761L & 0xFFFFFFFFL;
                            return Tuple3.of(mixed % cards, mixed / 65536 % 100, number / 20);
                        })
                        .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG))
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Tuple3<Long, Long, Long>>forBoundedOutOfOrderness(Duration.ofSeconds(2))
                                        .withTimestampAssigner((payment, before) -> payment.f2));
        Pattern<Tuple3<Long, Long, Long>, ?> pattern =
                Pattern.<Tuple3<Long, Long, Long>>begin("small")
                        .where(SimpleCondition.of(payment -> payment.f1 < 5))
                        .followedBy("large")
                        .where(SimpleCondition.of(payment -> payment.f1 >= 95))
                        .within(Duration.ofMinutes(1));
        CEP.pattern(payments.keyBy(payment -> payment.f0, Types.LONG), pattern)
                .select(
                        new PatternSelectFunction<Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>>() {
                            @Override
                            public Tuple3<Long, Long, Long> select(Map<String, List<Tuple3<Long, Long, Long>>> match) {
                                Tuple3<Long, Long, Long> small = match.get("small").get(0);
                                return Tuple3.of(small.f0, small.f2, match.get("large").get(0).f2);
                            }
                        },
                        Types.TUPLE(Types.LONG, Types.LONG, Types.LONG))
                .sinkTo(new DiscardingSink<>());
        env.execute("card fraud");
    }
}
