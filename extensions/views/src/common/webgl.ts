/**
 * The one WebGL context of a page. A page gets about sixteen before the oldest goes blank, so all views of a page share
 * one: each draws into it by turns, and copies the picture to a canvas of its own.
 */

/** A program, and where its uniforms are. */
export interface Program {
  readonly program: WebGLProgram;
  readonly uniforms: Readonly<Record<string, WebGLUniformLocation | null>>;
}

/** What a program is made of. */
export interface Source {
  readonly name: string;
  readonly vertex: string;
  readonly fragment: string;
  readonly uniforms: readonly string[];
}

/** The one context of a page. */
export interface SharedContext {
  readonly canvas: HTMLCanvasElement;
  readonly gl: WebGL2RenderingContext;
  /** Whether the processor plays the graphics card. */
  readonly software: boolean;
  lost: boolean;
  readonly programs: Map<string, Program>;
  readonly watchers: Set<() => void>;
}

// By name, in the whole page: each widget comes with a copy of this module.
const SHARED = Symbol.for('workbench.webgl.2');
type Page = typeof globalThis & { [SHARED]?: SharedContext };

/** WebGL is there, but cannot run our program. */
export class ShaderError extends Error {}

/** The page's context, made at first need; null where there is no WebGL 2, or while it is lost. */
export function sharedContext(): SharedContext | null {
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
  const shared: SharedContext = {
    canvas,
    gl,
    software: playedByProcessor(gl),
    lost: false,
    programs: new Map(),
    watchers: new Set()
  };
  canvas.addEventListener('webglcontextlost', event => {
    // Without this the browser would not give it back.
    event.preventDefault();
    shared.lost = true;
    shared.programs.clear();
    shared.watchers.forEach(watcher => watcher());
  });
  canvas.addEventListener('webglcontextrestored', () => {
    shared.lost = false;
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

/** The program of a source on the page's context, compiled at first need. */
export function programOf(shared: SharedContext, source: Source): Program {
  const known = shared.programs.get(source.name);
  if (known) {
    return known;
  }
  const made = compile(shared.gl, source);
  shared.programs.set(source.name, made);
  return made;
}

/** Gives the shared canvas room for a picture. It only grows: views of different sizes would make it anew by turns. */
export function makeRoom(canvas: HTMLCanvasElement, width: number, height: number): void {
  if (canvas.width < width || canvas.height < height) {
    canvas.width = Math.max(canvas.width, width);
    canvas.height = Math.max(canvas.height, height);
  }
}

function compile(gl: WebGL2RenderingContext, source: Source): Program {
  const program = gl.createProgram();
  for (const [kind, text] of [
    [gl.VERTEX_SHADER, source.vertex],
    [gl.FRAGMENT_SHADER, source.fragment]
  ] as const) {
    const shader = gl.createShader(kind);
    if (!shader) {
      throw new ShaderError('WebGL gives no shader');
    }
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  // A context that is lost links nothing, which is no fault of the shader.
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new ShaderError(`the shader was refused: ${gl.getProgramInfoLog(program)}`);
  }
  return {
    program,
    uniforms: Object.fromEntries(source.uniforms.map(name => [name, gl.getUniformLocation(program, name)]))
  };
}

function playedByProcessor(gl: WebGL2RenderingContext): boolean {
  const names = gl.getExtension('WEBGL_debug_renderer_info');
  const name = String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}
