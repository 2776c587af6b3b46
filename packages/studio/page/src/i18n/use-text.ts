import { useStore } from '../live/store.ts';
import { settings, type Language } from '../settings.ts';
import { en } from './en.ts';
import { zh } from './zh.ts';

/** All texts of the page in one language. */
export type Dictionary = typeof en;

export const DICTIONARIES: Readonly<Record<Language, Dictionary>> = { en, zh };

/** Texts in the chosen language. */
export function useText(): Dictionary {
  return DICTIONARIES[useStore(settings).language];
}
