/** Points with WebGL 2, on the one context that all views of a page share. */
import { makeRoom, programOf, sharedContext, type Program, type SharedContext } from '../common/webgl';
import type { Cloud } from './cloud';
import type { Span, Styles } from './emphasis';
import { darkGround, type Renderer, type Shot } from './renderer';

// Drawn in two passes: what hides others, with depth, and then the dimmed points, which are clear. A point of
// the other pass is put outside of the picture, for a shader cannot leave a vertex out.
const VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 style;
uniform mat3 rotation; uniform float perspective; uniform vec2 unit; uniform vec2 centre; uniform float radius; uniform float pass;
uniform float dimmed; uniform highp ivec2 grid;
out vec3 colour; out float depth; flat out vec3 corner; flat out float clear; flat out int shape;
void main() {
  int code = int(floor(style.a * 255.0 + 0.5));
  int mode = code & 3;
  shape = code >> 2;
  vec3 turned = rotation * position;
  float size = 1.0 / max(0.2, 1.0 - turned.z * perspective);
  depth = clamp(turned.z * 0.5 + 0.5, 0.0, 1.0);
  colour = style.rgb;
  int place = gl_VertexID % (grid.x * grid.y);
  corner = vec3(float(place % grid.x), float(place / grid.x), float(gl_VertexID / (grid.x * grid.y)));
  bool bright = mode == 2;
  bool behind = dimmed > 0.5 && !bright;
  clear = behind ? 1.0 : 0.0;
  bool mine = mode > 0 && behind == (pass > 0.5);
  float front = bright ? 0.5 : 0.0;
  gl_Position = mine ? vec4(centre + turned.xy * unit * size, clamp(-turned.z * 0.25 - front, -0.99, 0.99), 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = mine ? max(1.0, 2.0 * radius * size * (bright ? 1.5 : 1.0)) : 0.0;
}`;

// How far inside of a shape a place lies is `inset` in `shapes.ts`. Colours are multiplied by their opacity at the end,
// as the canvas has them (`premultipliedAlpha`).
const FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2DArray;
in vec3 colour; in float depth; flat in vec3 corner; flat in float clear; flat in int shape;
uniform vec3 paper; uniform float fog; uniform float pictures; uniform float pixel; uniform highp ivec2 grid; uniform sampler2DArray tiles;
out vec4 result;
float inset(vec2 p) {
  vec2 a = abs(p);
  float away = length(p);
  if (shape == 1) { return 0.85 - max(a.x, a.y); }
  if (shape == 2) { return min(0.8 - p.y, ((p.y + 1.0) * 0.95 - a.x * 1.8) / 2.0353); }
  if (shape == 3) { return (1.0 - a.x - a.y) * 0.7071; }
  if (shape == 4) { return max(min(1.0 - a.x, 0.35 - a.y), min(0.35 - a.x, 1.0 - a.y)); }
  if (shape == 5) { return min(1.0 - away, away - 0.5); }
  return 1.0 - away;
}
void main() {
  float fade = fog * (1.0 - depth);
  if (pictures > 0.5) {
    vec3 value = texture(tiles, vec3((corner.xy + gl_PointCoord) / vec2(grid), corner.z)).rgb;
    if (pictures < 1.5) {
      if (value.r < 0.16) { discard; }
      result = vec4(mix(colour, paper, fade), clear > 0.5 ? value.r * 0.25 : smoothstep(0.12, 0.5, value.r));
    } else {
      vec3 shown = pictures < 2.5 ? value * 0.75 + colour * 0.25 : value;
      result = vec4(mix(shown, paper, fade), clear > 0.5 ? 0.25 : 1.0);
    }
  } else {
    float inner = inset((gl_PointCoord - 0.5) * 2.0);
    float edge = smoothstep(0.0, pixel, inner);
    if (edge < 0.05) { discard; }
    vec3 shade = colour * (inner < 0.26 && pixel < 0.65 ? 0.8 : 1.0);
    result = vec4(mix(shade, paper, fade), edge * (clear > 0.5 ? 0.2 : 1.0));
  }
  result.rgb *= result.a;
}`;

const SOURCE = {
  name: 'scatter.2',
  vertex: VERTEX,
  fragment: FRAGMENT,
  uniforms: [
    ...['rotation', 'perspective', 'unit', 'centre', 'radius', 'pass', 'dimmed', 'grid', 'paper', 'fog'],
    ...['pictures', 'pixel', 'tiles']
  ]
};

/** A layer of thumbnails is at most so wide and high; more go to further layers. */
const LAYER_SIDE = 2048;

/** A renderer on the page's context; null where WebGL is not to be had. */
export function webglRenderer(): Renderer | null {
  const shared = sharedContext();
  return shared ? new WebglRenderer(shared) : null;
}

/** How thumbnails lie in layers. */
export interface Layers {
  readonly columns: number;
  readonly rows: number;
  readonly layers: number;
}

/** Cuts a sheet of thumbnails into layers that a graphics card takes; null where one thumbnail is larger already. */
export function layersOf(count: number, width: number, height: number, side: number): Layers | null {
  const columns = Math.min(Math.floor(side / width), Math.ceil(Math.sqrt((count * height) / width)));
  const rows = Math.min(Math.floor(side / height), Math.ceil(count / Math.max(1, columns)));
  return columns > 0 && rows > 0 ? { columns, rows, layers: Math.ceil(count / (columns * rows)) } : null;
}

class WebglRenderer implements Renderer {
  readonly kind = 'webgl';
  readonly slow: boolean;
  private readonly program: Program;
  private readonly array: WebGLVertexArrayObject | null;
  private readonly places: WebGLBuffer | null;
  private readonly looks: WebGLBuffer | null;
  private texture: WebGLTexture | null = null;
  private grid: readonly [number, number] = [1, 1];
  private count = 0;
  /** How thumbnails are shown: 1 as strokes in the points' colours, 2 grey, 3 in their own colours. */
  private kindOfPictures = 2;
  private dimmed = false;
  private aspect = 1;

  constructor(private readonly shared: SharedContext) {
    const { gl } = shared;
    this.slow = shared.software;
    this.program = programOf(shared, SOURCE);
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
    gl.bindBuffer(gl.ARRAY_BUFFER, this.looks);
    gl.bufferData(gl.ARRAY_BUFFER, cloud.count * 4, gl.DYNAMIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    gl.bufferData(gl.ARRAY_BUFFER, placed(cloud.positions), gl.DYNAMIC_DRAW);
    gl.deleteTexture(this.texture);
    this.texture = this.makeTexture(cloud);
  }

  setPositions(positions: Float32Array): void {
    const { gl } = this.shared;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, placed(positions));
  }

  setStyles(styles: Styles, { from, to }: Span): void {
    const { gl } = this.shared;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.looks);
    gl.bufferSubData(gl.ARRAY_BUFFER, from * 4, styles.bytes, from * 4, (to - from) * 4);
  }

  draw(context: CanvasRenderingContext2D, shot: Shot, styles: Styles): void {
    const { gl, canvas } = this.shared;
    const { program, uniforms } = this.program;
    const width = Math.max(1, Math.round(shot.width * shot.ratio));
    const height = Math.max(1, Math.round(shot.height * shot.ratio));
    makeRoom(canvas, width, height);
    this.dimmed = styles.dimmed;
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
    gl.uniform1f(uniforms['pass']!, 0);
    gl.drawArrays(gl.POINTS, 0, this.count);
    if (this.dimmed) {
      // Dimmed points are clear: they must not hide what lies behind them.
      gl.depthMask(false);
      gl.uniform1f(uniforms['pass']!, 1);
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

  /** The thumbnails as layers of one texture; null where there are none, or more than the graphics card takes. */
  private makeTexture({ sprite, pixels, count }: Cloud): WebGLTexture | null {
    const { gl } = this.shared;
    if (!sprite || !pixels) {
      return null;
    }
    const side = Math.min(LAYER_SIDE, gl.getParameter(gl.MAX_TEXTURE_SIZE) as number);
    const most = gl.getParameter(gl.MAX_ARRAY_TEXTURE_LAYERS) as number;
    const { width, height, channels } = sprite;
    const cut = layersOf(count, width, height, side);
    if (!cut || cut.layers > most) {
      return null;
    }
    this.grid = [cut.columns, cut.rows];
    this.aspect = height / width;
    this.kindOfPictures = channels === 3 ? 3 : darkGround(pixels) ? 1 : 2;
    const [across, down] = [cut.columns * width, cut.rows * height];
    const [inside, format] = channels === 3 ? [gl.RGB8, gl.RGB] : [gl.R8, gl.RED];
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
    // A row of bytes may begin anywhere; by itself WebGL takes it to begin at every fourth.
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, inside, across, down, cut.layers);
    const layer = new Uint8Array(across * down * channels);
    const row = width * channels;
    for (let at = 0; at < cut.layers; at++) {
      const first = at * cut.columns * cut.rows;
      for (let point = first; point < Math.min(count, first + cut.columns * cut.rows); point++) {
        const from =
          (Math.floor(point / sprite.columns) * height * sprite.columns + (point % sprite.columns)) * row;
        const place = point - first;
        const to = (Math.floor(place / cut.columns) * height * cut.columns + (place % cut.columns)) * row;
        for (let line = 0; line < height; line++) {
          const start = from + line * sprite.columns * row;
          layer.set(pixels.subarray(start, start + row), to + line * cut.columns * row);
        }
      }
      gl.texSubImage3D(
        gl.TEXTURE_2D_ARRAY,
        ...([0, 0, 0, at, across, down, 1] as const),
        format,
        gl.UNSIGNED_BYTE,
        layer
      );
    }
    for (const [name, value] of [
      [gl.TEXTURE_MIN_FILTER, gl.LINEAR],
      [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
      [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]
    ] as const) {
      gl.texParameteri(gl.TEXTURE_2D_ARRAY, name, value);
    }
    return texture;
  }

  private setUniforms(gl: WebGL2RenderingContext, uniforms: Program['uniforms'], shot: Shot): void {
    const { projection: p, ratio } = shot;
    const at = (name: string): WebGLUniformLocation | null => uniforms[name] ?? null;
    const pictures = shot.pictures && this.texture !== null;
    const radius = (pictures ? Math.max(9, shot.radius * 3.4) : shot.radius) * ratio;
    // Row by row: by itself WebGL takes columns.
    gl.uniformMatrix3fv(at('rotation'), true, p.rows);
    gl.uniform1f(at('perspective'), p.perspective);
    gl.uniform2f(at('unit'), (2 * p.unit) / shot.width, (2 * p.unit) / shot.height);
    gl.uniform2f(at('centre'), (2 * p.centerX) / shot.width - 1, 1 - (2 * p.centerY) / shot.height);
    gl.uniform1f(at('radius'), radius * (pictures ? Math.max(1, this.aspect) : 1));
    gl.uniform1f(at('dimmed'), this.dimmed ? 1 : 0);
    gl.uniform2i(at('grid'), this.grid[0], this.grid[1]);
    gl.uniform3f(at('paper'), shot.paper[0] / 255, shot.paper[1] / 255, shot.paper[2] / 255);
    gl.uniform1f(at('fog'), shot.fog);
    gl.uniform1f(at('pictures'), pictures ? this.kindOfPictures : 0);
    gl.uniform1f(at('pixel'), Math.min(0.9, 1.4 / Math.max(1, radius)));
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, this.texture);
    gl.uniform1i(at('tiles'), 0);
  }
}

/** Positions as a shader may see them: a place that is no number is never drawn, but must not reach it. */
function placed(positions: Float32Array): Float32Array {
  return positions.some(Number.isNaN) ? positions.map(value => (Number.isNaN(value) ? 0 : value)) : positions;
}
