import { StateModule } from '../state/state-module.ts';

/** State modules behind tools, such as agents, by tool name. Their states are part of the toolkit's state. */
export class ToolModules extends StateModule {
  static override readonly hasOptionalModules = true;

  set(name: string, module: StateModule | undefined): void {
    if (module === undefined) Reflect.deleteProperty(this, name);
    else Object.defineProperty(this, name, { value: module, enumerable: true, configurable: true });
  }
}
