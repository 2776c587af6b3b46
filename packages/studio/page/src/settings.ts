import { Store } from './live/store.ts';

export type Theme = 'system' | 'light' | 'dark';
export type Language = 'en' | 'zh';

/** Settings of this browser. */
export interface Settings {
  readonly theme: Theme;
  readonly language: Language;
  /** Whether single letters are commands (WCAG 2.1.4). */
  readonly hasLetterKeys: boolean;
  readonly showsThinking: boolean;
  readonly showsTools: boolean;
}

const KEY = 'troupe-studio';

function initial(): Settings {
  const language: Language = navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
  const preset: Settings = {
    theme: 'system',
    language,
    hasLetterKeys: true,
    showsThinking: true,
    showsTools: true,
  };
  try {
    const saved: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof saved === 'object' && saved !== null ? keepKnown(preset, saved) : preset;
  } catch {
    return preset; // no storage, or damaged
  }
}

/** Takes the saved values that have the type of the preset. */
function keepKnown(preset: Settings, saved: object): Settings {
  const { theme, language, hasLetterKeys, showsThinking, showsTools } = saved as Partial<Settings>;
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    language: language === 'en' || language === 'zh' ? language : preset.language,
    hasLetterKeys: hasLetterKeys !== false,
    showsThinking: showsThinking !== false,
    showsTools: showsTools !== false,
  };
}

export const settings = new Store<Settings>(initial());

export function changeSettings(change: Partial<Settings>): void {
  settings.set({ ...settings.get(), ...change });
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.get()));
  } catch {
    // a browser without storage: the setting lasts until the page is closed
  }
}

/** Applies theme and language to the document, now and with each change. */
export function applySettings(): void {
  const apply = (): void => {
    const { theme, language } = settings.get();
    const root = document.documentElement;
    root.lang = language === 'zh' ? 'zh-Hans' : 'en';
    if (theme === 'system') delete root.dataset['theme'];
    else root.dataset['theme'] = theme;
  };
  apply();
  settings.subscribe(apply);
}
