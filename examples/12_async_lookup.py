"""Enrich orders with prices from a slow service: many questions are under way at the same time."""

import asyncio
from dataclasses import dataclass

from firesteel.common import Time
from firesteel.datastream import AsyncDataStream, AsyncFunction, RuntimeContext, StreamExecutionEnvironment

PRICES = {"tea": 250, "bread": 180, "salt": 90}


@dataclass
class Order:
    """So many pieces of a product."""

    number: int
    product: str
    pieces: int


class PriceService:
    """Stands for a database or a web service with a client for asyncio."""

    async def price_of(self, product: str) -> int:
        await asyncio.sleep(5 if product == "silk" else 0.1)
        return PRICES[product]


class WithPrice(AsyncFunction[Order, str]):
    """One result per order. An order whose price does not come in time says so."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.service = PriceService()

    async def async_invoke(self, value: Order) -> list[str]:
        price = await self.service.price_of(value.product)
        return [f"order {value.number}: {value.pieces} x {value.product} = {value.pieces * price / 100:.2f}"]

    def timeout(self, value: Order) -> list[str]:
        return [f"order {value.number}: no price for {value.product} yet"]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    products = ["tea", "bread", "salt", "silk"]
    orders = env.from_collection([Order(number, products[number % 4], number) for number in range(1, 9)])
    priced = AsyncDataStream.ordered_wait(orders, WithPrice(), timeout=Time.milliseconds(500), capacity=10)
    priced.print()

    env.execute("asynchronous lookup")


if __name__ == "__main__":
    main()

# Output:
# order 1: 1 x bread = 1.80
# order 2: 2 x salt = 1.80
# order 3: no price for silk yet
# order 4: 4 x tea = 10.00
# order 5: 5 x bread = 9.00
# order 6: 6 x salt = 5.40
# order 7: no price for silk yet
# order 8: 8 x tea = 20.00
