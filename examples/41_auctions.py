"""Generated auctions: the highest bid through each of four channels, every ten seconds.

The events are those of the Nexmark benchmark: persons, auctions and bids, the same on every run, here a second out of
order. The queries of the benchmark, in bench/nexmark/queries, are more programs to read.
"""

import sys
from operator import itemgetter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the benchmarks are in the repository, but not in the package

from bench.nexmark.generator import HOT_CHANNELS, NexmarkConfig  # noqa: E402
from bench.nexmark.model import Bid, Event, is_bid  # noqa: E402
from bench.nexmark.source import nexmark_events  # noqa: E402
from firesteel.common import Time  # noqa: E402
from firesteel.datastream import StreamExecutionEnvironment  # noqa: E402
from firesteel.datastream.window import TumblingEventTimeWindows  # noqa: E402

CONFIG = NexmarkConfig(rate=100, out_of_order_group=100)


def describe(bid: Event) -> str:
    seconds = (bid[Bid.DATE_TIME] - CONFIG.base_time) // 1000
    return f"{bid[Bid.CHANNEL]}: {bid[Bid.PRICE]:,} cents for {bid[Bid.AUCTION]} after {seconds} s"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_python_file(str(ROOT / "bench"))  # for the workers

    events = nexmark_events(env, 3000, CONFIG)  # with timestamps and watermarks
    bids = events.filter(lambda event: is_bid(event) and event[Bid.CHANNEL] in HOT_CHANNELS)
    windows = bids.key_by(itemgetter(Bid.CHANNEL)).window(TumblingEventTimeWindows.of(Time.seconds(10)))
    windows.max_by(Bid.PRICE).map(describe).print().set_parallelism(1)

    env.execute("auctions")


if __name__ == "__main__":
    main()

# Output, in any order:
# Apple: 89,984,944 cents for 1000 after 0 s
# Facebook: 82,521,904 cents for 1058 after 9 s
# Google: 91,824,170 cents for 1000 after 2 s
# Google: 75,070,035 cents for 1000 after 15 s
# Facebook: 96,403,910 cents for 1100 after 19 s
# Apple: 73,701,680 cents for 1084 after 19 s
# Facebook: 95,032,644 cents for 1100 after 26 s
# Apple: 99,947,296 cents for 1171 after 29 s
# Google: 97,341,133 cents for 1100 after 29 s
# Baidu: 96,678,400 cents for 1000 after 0 s
# Baidu: 93,602,225 cents for 1100 after 16 s
# Baidu: 97,186,699 cents for 1053 after 20 s
