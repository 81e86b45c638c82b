"""Product images over HTTP: originals, or smaller copies in another format, with caching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response

from rolecall.web import Connects, PathId, Reads, RequestRefused, refuses
from storecrawl.catalog import find_image, find_product, images_of_products
from storecrawl.images import Fit, Format, Rendition
from storecrawl.images.pixels import LARGEST
from storecrawl.serving.pictures import HasPictures
from storecrawl.serving.refusals import catalog_errors_as_problems

router = APIRouter(tags=["images"])

Pixels = Annotated[int | None, Query(ge=1, le=LARGEST)]
CACHE = "private, max-age=86400"
TAG_LETTERS = 32
PICTURE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The image",
        "content": {f"image/{kind}": {} for kind in ("webp", "jpeg", "png", "gif")},
    },
    304: {"description": "Not modified"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductImage:
    """The stored image of a product; `size` is in bytes, width and height are in pixels."""

    id: int
    url: str
    content_type: str
    size: int
    width: int
    height: int
    sha256: str


@router.get("/api/images/{image_id:int}", response_class=Response, responses=PICTURE | refuses(404, 410, 503))
async def show(  # sizes: the properties of a copy
    image_id: PathId,
    connects: Connects,
    pictures: HasPictures,
    _: Reads,
    w: Pixels = None,
    h: Pixels = None,
    fit: Fit = Fit.CONTAIN,
    form: Annotated[Format | None, Query(alias="format")] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Return the original image, or a copy within `w` x `h` pixels in a format (WebP). It is never enlarged."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            image = await find_image(connection, image_id)
    rendition = Rendition(width=w, height=h, fit=fit, format=form or Format.WEBP) if w or h or form else None
    headers = {"ETag": _tag(image.sha256, rendition), "Cache-Control": CACHE, "X-Content-Type-Options": "nosniff"}
    if if_none_match is not None and headers["ETag"] in if_none_match:
        return Response(status_code=304, headers=headers)
    if rendition is None:
        return Response(await pictures.original(image), media_type=image.content_type, headers=headers)
    return Response(await pictures.resize(image, rendition), media_type=rendition.content_type, headers=headers)


@router.get("/api/products/{product_id:int}/image", responses=refuses(404))
async def of_product(product_id: PathId, connects: Connects, _: Reads) -> ProductImage:
    """Return the stored image of a product and its address."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            product = await find_product(connection, product_id)
            image = (await images_of_products(connection, [product.id])).get(product.id)
    if image is None:
        raise RequestRefused(f"product {product_id} has no stored image", status=404, kind="image-not-found")
    return ProductImage(
        id=image.id,
        url=f"/api/images/{image.id}",
        content_type=image.content_type,
        size=image.size,
        width=image.width,
        height=image.height,
        sha256=image.sha256,
    )


def _tag(sha256: str, rendition: Rendition | None) -> str:
    suffix = f"-{rendition.width}-{rendition.height}-{rendition.fit}-{rendition.format}" if rendition else ""
    return f'"{sha256[:TAG_LETTERS]}{suffix}"'
