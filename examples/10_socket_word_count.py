"""Count the words that come in over a socket, until the other side closes it.

Start a server first, type lines into it and end it with Ctrl-C or Ctrl-D::

    nc -lk 9999                                     # in one terminal
    python examples/10_socket_word_count.py         # in another; or with another host and port
"""

import sys

from firesteel.datastream import StreamExecutionEnvironment


def main(host: str = "localhost", port: str = "9999") -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    lines = env.socket_text_stream(host, int(port))
    words = lines.flat_map(str.split).map(lambda word: (word, 1))
    words.key_by(lambda pair: pair[0]).sum(1).print().set_parallelism(1)

    env.execute("socket word count")


if __name__ == "__main__":
    main(*sys.argv[1:])

# Output after the lines "to be or" and "not to be", in any order:
# ('to', 1)
# ('be', 1)
# ('or', 1)
# ('not', 1)
# ('to', 2)
# ('be', 2)
