import type { PromptItem } from '../../../formatter/prompt.ts';
import type { HttpSettings } from '../../../model/http/http-call-options.ts';
import { stringOf } from '../../../model/http/wire-values.ts';
import { PrefixMemo } from '../../../util/prefix-memo.ts';
import { BETA_OF_BLOCK } from './anthropic-tools.ts';
import { wireServerBlock } from './server-tools.ts';

/** Finds the beta features that the blocks of a history need. Each item is looked at once. */
export class BetaFinder {
  readonly #known = new PrefixMemo<PromptItem, ReadonlySet<string>>();

  find(items: readonly PromptItem[]): ReadonlySet<string> {
    return this.#known.workOn(items, () => new Set<string>(), addBetas);
  }
}

function addBetas(betas: ReadonlySet<string>, item: PromptItem): ReadonlySet<string> {
  if (item.role !== 'assistant') return betas;
  const found = item.content.flatMap(
    (block) => BETA_OF_BLOCK[stringOf(wireServerBlock(block)?.['type'])] ?? [],
  );
  return found.length === 0 ? betas : new Set([...betas, ...found]);
}

/** Settings of a request that needs further beta features. */
export function withBetas(settings: HttpSettings, betas: ReadonlySet<string>): HttpSettings {
  if (betas.size === 0) return settings;
  const { 'anthropic-beta': given, ...headers } = settings.headers;
  const all = [...(given === undefined ? [] : [given]), ...betas].join(',');
  return { ...settings, headers: { ...headers, 'anthropic-beta': all } };
}
