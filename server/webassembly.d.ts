/** Node has WebAssembly, but TypeScript's declaration of it comes with the browser's, which the server does without. */
declare namespace WebAssembly {
  type Module = object;
  type Instance = { readonly exports: Exports };
  type Imports = Record<string, Record<string, unknown>>;
  type Exports = Record<string, unknown>;
  function compile(bytes: NodeJS.ArrayBufferView): Promise<Module>;
  function instantiate(module: Module, imports?: Imports): Promise<Instance>;
}
