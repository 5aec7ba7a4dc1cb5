// Points by WebGL2: the tween runs on the graphics card, a frame of animation only sets a few numbers.
import { hermite, type Tween } from "../math/tween.ts";
import type { Moment, Renderer } from "./renderer.ts";
import { sources } from "./shaders.ts";

const UNIFORMS = ["weights", "share", "center", "scale", "radius", "halo", "opacity", "layer", "ground"] as const;

const SOFTWARE = /swiftshader|llvmpipe|softpipe|basic render/i; // in the name of what draws
const BYTES = { FLOAT: 4, UNSIGNED_BYTE: 1 };
/** Of a point: both places, both slopes, opacities, color, shape and layer; by location in the vertex shader. */
const ATTRIBUTES: { size: number; type: keyof typeof BYTES; normalized?: boolean }[] = [
  { size: 2, type: "FLOAT" },
  { size: 2, type: "FLOAT" },
  { size: 2, type: "FLOAT" },
  { size: 2, type: "FLOAT" },
  { size: 2, type: "UNSIGNED_BYTE", normalized: true },
  { size: 4, type: "UNSIGNED_BYTE", normalized: true },
  { size: 2, type: "UNSIGNED_BYTE" },
];

interface Program {
  program: WebGLProgram;
  at: Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
}

/** Draws points on a canvas; throws when WebGL2 is not to be had. `onrestore` is called after a lost context is back. */
export class GlRenderer implements Renderer {
  readonly kind = "webgl2";
  readonly isSoftware: boolean;
  readonly gl: WebGL2RenderingContext;
  private discs!: Program;
  private shapes: Program | null = null; // linked when first asked for
  private buffers: WebGLBuffer[] = [];
  private ratio = 1;
  private count = 0;
  private every = 1; // every how-manieth point the attributes are set to
  private hasMarks = false; // whether some point has a shape of its own
  private layers: number[] | null = null;
  private drawing: WebGLSync | null = null; // is signaled when the last drawing is done

  constructor(
    private canvas: HTMLCanvasElement,
    onrestore: () => void = () => {},
  ) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, depth: false, stencil: false });
    if (!gl) throw new Error("no WebGL2");
    this.gl = gl;
    const info = gl.getExtension("WEBGL_debug_renderer_info");
    this.isSoftware = SOFTWARE.test(info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "");
    this.build();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.build();
      onrestore();
    });
  }

  private build(): void {
    const { gl } = this;
    this.every = 1;
    this.drawing = null;
    this.discs = this.link(false);
    this.shapes = null;
    gl.bindVertexArray(gl.createVertexArray());
    this.buffers = ATTRIBUTES.map(() => gl.createBuffer());
    this.pointAttributes();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  private link(markers: boolean): Program {
    const { gl } = this;
    const program = gl.createProgram();
    const types = [gl.VERTEX_SHADER, gl.FRAGMENT_SHADER];
    sources(markers).forEach((source, i) => {
      const shader = gl.createShader(types[i]);
      if (!shader) return; // a lost context: all is built again when it is back
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    });
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`the point program does not link: ${gl.getProgramInfoLog(program)}`);
    }
    const at = Object.fromEntries(
      UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]),
    ) as Program["at"];
    return { program, at };
  }

  // To draw every third point only, each attribute takes steps of three points through its buffer.
  private pointAttributes(): void {
    const { gl, every } = this;
    ATTRIBUTES.forEach(({ size, type, normalized = false }, slot) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[slot]);
      gl.enableVertexAttribArray(slot);
      gl.vertexAttribPointer(slot, size, gl[type], normalized, every * size * BYTES[type], 0);
    });
  }

  private upload(slot: number, data: AllowSharedBufferSource): void {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[slot]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.DYNAMIC_DRAW);
  }

  setTween(tween: Tween): void {
    [tween.p0, tween.p1, tween.m0, tween.m1, tween.fade].forEach((data, slot) => this.upload(slot, data));
    this.count = tween.n;
  }

  setPaint(paint: Uint8Array<ArrayBuffer>, marks: Uint8Array<ArrayBuffer>): void {
    this.upload(5, paint);
    this.upload(6, marks);
    this.hasMarks = marks.some((mark, j) => j % 2 === 0 && mark !== 0);
    this.layers = [1, 2].filter((layer) => marks.some((mark, j) => j % 2 === 1 && mark === layer));
  }

  resize(width: number, height: number, ratio: number): void {
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.ratio = ratio;
  }

  draw({ view, port, t, moves, style, ground, every }: Moment): void {
    const { gl } = this;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.count || !this.layers) return;
    if (every !== this.every) {
      this.every = every;
      this.pointAttributes();
    }
    const { program, at } = this.hasMarks ? (this.shapes ??= this.link(true)) : this.discs;
    gl.useProgram(program);
    gl.uniform4fv(at.weights, moves ? hermite(t) : [0, 1, 0, 0]);
    gl.uniform1f(at.share, moves ? t : 1);
    gl.uniform2f(at.center, view.x, view.y);
    gl.uniform2f(at.scale, (2 * view.k) / port.width, (2 * view.k) / port.height);
    gl.uniform1f(at.radius, style.radius * this.ratio);
    gl.uniform1f(at.halo, style.halo * this.ratio);
    gl.uniform1f(at.opacity, style.opacity);
    gl.uniform3f(at.ground, ground[0] / 255, ground[1] / 255, ground[2] / 255);
    for (const layer of this.layers) {
      gl.uniform1f(at.layer, layer);
      gl.drawArrays(gl.POINTS, 0, Math.ceil(this.count / every));
    }
    gl.deleteSync(this.drawing);
    this.drawing = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
  }

  get busy(): boolean {
    const { gl, drawing } = this;
    return drawing !== null && gl.getSyncParameter(drawing, gl.SYNC_STATUS) === gl.UNSIGNALED;
  }

  destroy(): void {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
