// Names of components, and of classes in cache keys, do not depend on the names of classes, which minifiers change.
import { readFileSync } from 'node:fs';
import { ChatModelBase, StateModule } from 'troupe';
import { FormatterBase } from 'troupe/provider';
import { expect, test } from 'vitest';

test('every class of the library that can be a component has a name that no minifier changes', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    exports: Record<string, unknown>;
  };
  const unnamed: string[] = [];
  let named = 0;
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target !== 'object') continue;
    const entry = (await import(`troupe${subpath.slice(1)}`)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(entry)) {
      if (typeof value !== 'function' || !(value.prototype instanceof StateModule)) continue;
      if (/(?:Base|HookedModule)$/.test(name)) continue; // abstract
      const expected = name.charAt(0).toLowerCase() + name.slice(1);
      const own = Object.getOwnPropertyDescriptor(value, 'componentName')?.value as unknown;
      if (own === expected) named++;
      else unnamed.push(`${name}: ${String(own)}`);
    }
  }
  expect(unnamed).toEqual([]);
  expect(named).toBeGreaterThan(20);
});

test('every model and formatter of the library has a name for cache keys that no minifier changes', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    exports: Record<string, unknown>;
  };
  const unnamed: string[] = [];
  let named = 0;
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target !== 'object') continue;
    const entry = (await import(`troupe${subpath.slice(1)}`)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(entry)) {
      if (typeof value !== 'function') continue;
      if (!(value.prototype instanceof ChatModelBase || value.prototype instanceof FormatterBase)) continue;
      if (/^(?:HttpChatModel|WrapperModel)$/.test(name)) continue; // abstract
      const own = Object.getOwnPropertyDescriptor(value, 'className')?.value as unknown;
      if (own === name) named++;
      else unnamed.push(`${name}: ${String(own)}`);
    }
  }
  expect(unnamed).toEqual([]);
  expect(named).toBeGreaterThan(12);
});
