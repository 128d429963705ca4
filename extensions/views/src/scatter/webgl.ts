/**
 * Points with WebGL 2. A page gets about sixteen contexts before the oldest goes blank, so all scatter views of
 * a page share one: each draws into it by turns and copies the picture to a canvas of its own.
 */
import type { Cloud } from './cloud';
import { darkGround, type Renderer, type Shot } from './renderer';

// Drawn in two passes: what hides others, with depth, and then the dimmed points, which are clear. A point of
// the other pass is put outside of the picture, for a shader cannot leave a vertex out.
const VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 style;
uniform mat3 rotation; uniform float perspective; uniform vec2 unit; uniform vec2 centre; uniform float radius; uniform float pass;
uniform highp ivec2 grid;
out vec3 colour; out float depth; flat out vec2 corner; flat out float mode;
void main() {
  mode = floor(style.a * 255.0 + 0.5);
  vec3 turned = rotation * position;
  float size = 1.0 / max(0.2, 1.0 - turned.z * perspective);
  depth = clamp(turned.z * 0.5 + 0.5, 0.0, 1.0);
  colour = style.rgb;
  corner = vec2(float(gl_VertexID % grid.x), float(gl_VertexID / grid.x));
  bool mine = mode > 0.5 && (pass < 0.5 ? mode > 1.5 : mode < 1.5);
  float front = mode > 2.5 ? 0.5 : 0.0;
  gl_Position = mine ? vec4(centre + turned.xy * unit * size, clamp(-turned.z * 0.25 - front, -0.99, 0.99), 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = mine ? max(1.0, 2.0 * radius * size * (mode > 2.5 ? 1.5 : 1.0)) : 0.0;
}`;

// Colours are multiplied by their opacity at the end, as the canvas has them (`premultipliedAlpha`).
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 colour; in float depth; flat in vec2 corner; flat in float mode;
uniform vec3 paper; uniform float fog; uniform float pictures; uniform float pixel; uniform highp ivec2 grid; uniform sampler2D tiles;
out vec4 result;
void main() {
  float fade = fog * (1.0 - depth);
  if (pictures > 0.5) {
    float value = texture(tiles, (corner + gl_PointCoord) / vec2(grid)).r;
    if (pictures < 1.5) {
      if (value < 0.16) { discard; }
      result = vec4(mix(colour, paper, fade), mode < 1.5 ? value * 0.25 : smoothstep(0.12, 0.5, value));
    } else {
      result = vec4(mix(vec3(value) * 0.75 + colour * 0.25, paper, fade), mode < 1.5 ? 0.25 : 1.0);
    }
  } else {
    float away = length(gl_PointCoord - 0.5) * 2.0;
    float edge = 1.0 - smoothstep(1.0 - pixel, 1.0, away);
    if (edge < 0.05) { discard; }
    vec3 shade = colour * (away > 0.74 ? 0.8 : 1.0);
    result = vec4(mix(shade, paper, fade), edge * (mode < 1.5 ? 0.2 : 1.0));
  }
  result.rgb *= result.a;
}`;

const NAMES = [
  'rotation',
  'perspective',
  'unit',
  'centre',
  'radius',
  'pass',
  'grid',
  'paper',
  'fog',
  'pictures',
  'pixel',
  'tiles'
] as const;
type Uniforms = Record<(typeof NAMES)[number], WebGLUniformLocation | null>;

/** The one context of a page. */
interface SharedContext {
  readonly canvas: HTMLCanvasElement;
  readonly gl: WebGL2RenderingContext;
  program: WebGLProgram;
  uniforms: Uniforms;
  lost: boolean;
  readonly watchers: Set<() => void>;
}

// By name, in the whole page: each widget comes with a copy of this module.
const SHARED = Symbol.for('workbench.webgl.1');
type Page = typeof globalThis & { [SHARED]?: SharedContext };

/** WebGL is there, but cannot run our program. */
export class ShaderError extends Error {}

function compile(gl: WebGL2RenderingContext): {
  readonly program: WebGLProgram;
  readonly uniforms: Uniforms;
} {
  const program = gl.createProgram();
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT]
  ] as const) {
    const shader = gl.createShader(kind);
    if (!shader) {
      throw new ShaderError('WebGL gives no shader');
    }
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  // A context that is lost links nothing, which is no fault of the shader.
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new ShaderError(`the shader was refused: ${gl.getProgramInfoLog(program)}`);
  }
  const uniforms = Object.fromEntries(
    NAMES.map(name => [name, gl.getUniformLocation(program, name)])
  ) as Uniforms;
  return { program, uniforms };
}

/** The page's context, made at first need; null where there is no WebGL 2. */
function sharedContext(): SharedContext | null {
  const page = globalThis as Page;
  if (page[SHARED]) {
    return page[SHARED].lost ? null : page[SHARED];
  }
  const canvas = document.createElement('canvas');
  const gl = canvas.getContext('webgl2', {
    antialias: false,
    alpha: true,
    premultipliedAlpha: true,
    powerPreference: 'low-power'
  });
  if (!gl) {
    return null;
  }
  const shared: SharedContext = { canvas, gl, ...compile(gl), lost: false, watchers: new Set() };
  canvas.addEventListener('webglcontextlost', event => {
    // Without this the browser would not give it back.
    event.preventDefault();
    shared.lost = true;
    shared.watchers.forEach(watcher => watcher());
  });
  canvas.addEventListener('webglcontextrestored', () => {
    Object.assign(shared, compile(gl), { lost: false });
    shared.watchers.forEach(watcher => watcher());
  });
  page[SHARED] = shared;
  return shared;
}

/** Calls back when the page's context is lost or comes back. */
export function watchContext(changed: () => void): () => void {
  sharedContext();
  const shared = (globalThis as Page)[SHARED];
  shared?.watchers.add(changed);
  return () => shared?.watchers.delete(changed);
}

/** A renderer on the page's context; null where WebGL is not to be had. */
export function webglRenderer(): Renderer | null {
  const shared = sharedContext();
  return shared ? new WebglRenderer(shared) : null;
}

class WebglRenderer implements Renderer {
  readonly kind = 'webgl';
  private readonly array: WebGLVertexArrayObject | null;
  private readonly places: WebGLBuffer | null;
  private readonly looks: WebGLBuffer | null;
  private texture: WebGLTexture | null = null;
  private grid: readonly [number, number] = [1, 1];
  private count = 0;
  private strokes = false;
  private dimmed = false;
  private aspect = 1;

  constructor(private readonly shared: SharedContext) {
    const { gl } = shared;
    this.array = gl.createVertexArray();
    this.places = gl.createBuffer();
    this.looks = gl.createBuffer();
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.looks);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    gl.bindVertexArray(null);
  }

  get canDrawPictures(): boolean {
    return this.texture !== null;
  }

  setCloud(cloud: Cloud): void {
    const { gl } = this.shared;
    this.count = cloud.count;
    // A place that is not a number is never drawn (its style hides it), but must not reach the shader.
    const places =
      cloud.lost > 0 ? cloud.positions.map(value => (Number.isNaN(value) ? 0 : value)) : cloud.positions;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    gl.bufferData(gl.ARRAY_BUFFER, places, gl.STATIC_DRAW);
    gl.deleteTexture(this.texture);
    this.texture = null;
    const { sprite, pixels } = cloud;
    const most = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    if (sprite && pixels && sprite.columns * sprite.width <= most && sprite.rows * sprite.height <= most) {
      this.grid = [sprite.columns, sprite.rows];
      this.aspect = sprite.height / sprite.width;
      this.strokes = darkGround(pixels);
      this.texture = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, this.texture);
      // A row of bytes may begin anywhere; by itself WebGL takes it to begin at every fourth.
      gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
      gl.texImage2D(
        gl.TEXTURE_2D,
        0,
        gl.R8,
        sprite.columns * sprite.width,
        sprite.rows * sprite.height,
        0,
        gl.RED,
        gl.UNSIGNED_BYTE,
        pixels
      );
      for (const [name, value] of [
        [gl.TEXTURE_MIN_FILTER, gl.LINEAR],
        [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
        [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
        [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]
      ] as const) {
        gl.texParameteri(gl.TEXTURE_2D, name, value);
      }
    }
  }

  setStyles(styles: Uint8Array): void {
    const { gl } = this.shared;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.looks);
    gl.bufferData(gl.ARRAY_BUFFER, styles, gl.DYNAMIC_DRAW);
    this.dimmed = false;
    for (let point = 3; point < styles.length && !this.dimmed; point += 4) {
      this.dimmed = styles[point] === 1;
    }
  }

  draw(context: CanvasRenderingContext2D, shot: Shot): void {
    const { gl, canvas, program, uniforms } = this.shared;
    const width = Math.max(1, Math.round(shot.width * shot.ratio));
    const height = Math.max(1, Math.round(shot.height * shot.ratio));
    // The shared canvas only grows: views of different sizes would otherwise make it anew at every turn.
    if (canvas.width < width || canvas.height < height) {
      canvas.width = Math.max(canvas.width, width);
      canvas.height = Math.max(canvas.height, height);
    }
    gl.bindVertexArray(this.array);
    gl.useProgram(program);
    gl.viewport(0, 0, width, height);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    this.setUniforms(gl, uniforms, shot);
    gl.depthMask(true);
    gl.uniform1f(uniforms.pass, 0);
    gl.drawArrays(gl.POINTS, 0, this.count);
    if (this.dimmed) {
      // Dimmed points are clear: they must not hide what lies behind them.
      gl.depthMask(false);
      gl.uniform1f(uniforms.pass, 1);
      gl.drawArrays(gl.POINTS, 0, this.count);
      gl.depthMask(true);
    }
    gl.bindVertexArray(null);
    // WebGL counts rows from below: the picture stands at the bottom of the canvas.
    context.drawImage(canvas, 0, canvas.height - height, width, height, 0, 0, shot.width, shot.height);
  }

  destroy(): void {
    const { gl } = this.shared;
    gl.deleteVertexArray(this.array);
    gl.deleteBuffer(this.places);
    gl.deleteBuffer(this.looks);
    gl.deleteTexture(this.texture);
  }

  private setUniforms(gl: WebGL2RenderingContext, uniforms: Uniforms, shot: Shot): void {
    const { projection: p, ratio } = shot;
    const pictures = shot.pictures && this.texture !== null;
    const radius = (pictures ? Math.max(9, shot.radius * 3.4) : shot.radius) * ratio;
    // Row by row: by itself WebGL takes columns.
    gl.uniformMatrix3fv(uniforms.rotation, true, p.rows);
    gl.uniform1f(uniforms.perspective, p.perspective);
    gl.uniform2f(uniforms.unit, (2 * p.unit) / shot.width, (2 * p.unit) / shot.height);
    gl.uniform2f(uniforms.centre, (2 * p.centerX) / shot.width - 1, 1 - (2 * p.centerY) / shot.height);
    gl.uniform1f(uniforms.radius, radius * (pictures ? Math.max(1, this.aspect) : 1));
    gl.uniform2i(uniforms.grid, this.grid[0], this.grid[1]);
    gl.uniform3f(uniforms.paper, shot.paper[0] / 255, shot.paper[1] / 255, shot.paper[2] / 255);
    gl.uniform1f(uniforms.fog, shot.fog);
    gl.uniform1f(uniforms.pictures, pictures ? (this.strokes ? 1 : 2) : 0);
    gl.uniform1f(uniforms.pixel, Math.min(0.9, 1.4 / Math.max(1, radius)));
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.uniform1i(uniforms.tiles, 0);
  }
}
