// Shapes on a canvas, and images for it.

type Point = readonly [number, number];

/** Stroke the line through points [x, y]. */
export function line(context: CanvasRenderingContext2D, ...points: Point[]): void {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y); // the first one begins the path
  context.stroke();
}

/** Begin a path with a circle, to be filled or stroked. */
export function circle(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

/** An image, once it can be drawn. */
export function loadImage(source: string): Promise<HTMLImageElement> {
  const image = new Image();
  image.src = source;
  return image.decode().then(() => image);
}
