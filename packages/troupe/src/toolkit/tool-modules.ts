import { StateModule } from '../state/state-module.ts';

/** The modules that tools stand for, such as agents, by the names of the tools: their states are part of the toolkit's. */
export class ToolModules extends StateModule {
  static override readonly hasOptionalModules = true;

  set(name: string, module: StateModule | undefined): void {
    if (module === undefined) Reflect.deleteProperty(this, name);
    else Object.defineProperty(this, name, { value: module, enumerable: true, configurable: true });
  }
}
