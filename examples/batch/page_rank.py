"""Which pages count most? A surfer follows links, and now and then goes to any page."""

from firesteel.dataset import ExecutionEnvironment
from firesteel.gelly import Graph
from firesteel.gelly.library import PageRank

LINKS = [
    ("home", "news"),
    ("home", "shop"),
    ("news", "home"),
    ("news", "archive"),
    ("shop", "home"),
    ("archive", "news"),
    ("blog", "home"),
]


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment()
    ranks = Graph.from_collection(LINKS, env).run(PageRank(0.85, 10))
    for page, rank in sorted(ranks.collect(), key=lambda result: -result.page_rank_score):
        print(f"{page:8} {rank:.3f}")


if __name__ == "__main__":
    main()

# Output:
# news     0.319
# home     0.319
# shop     0.177
# archive  0.155
# blog     0.030
