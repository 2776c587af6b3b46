import { useEffect, useState } from 'react';

import type { Language } from '../settings.ts';

const LOCALES: Readonly<Record<Language, string>> = { en: 'en', zh: 'zh-Hans' };

/** Duration as `0.42 s`, `12 s`, `4m 12s`, `2h 05m`. */
export function formatMs(ms: number): string {
  if (ms < 1) return '0 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  const pad = (value: number): string => String(value).padStart(2, '0');
  if (minutes < 60) return `${minutes}m ${pad(Math.floor(seconds % 60))}s`;
  return `${Math.floor(minutes / 60)}h ${pad(minutes % 60)}m`;
}

/** Number with at most three digits and a unit: 950, 1.2k, 34k, 1.5M. */
export function formatCount(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 1_000_000) return `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(value < 10_000_000 ? 1 : 0)}M`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(bytes < 10_240 ? 1 : 0)} kB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** Tokens in and out; undefined if none were counted. */
export function formatTokens(input: number, output: number): string | undefined {
  return input + output > 0 ? `${formatCount(input)} → ${formatCount(output)}` : undefined;
}

export function formatCost(cost: number): string {
  if (cost === 0) return '$0';
  return cost < 0.01 ? `$${cost.toFixed(4)}` : `$${cost.toFixed(2)}`;
}

/** Time of day, to the second. */
export function formatClock(at: string | number, language: Language): string {
  return new Date(at).toLocaleTimeString(LOCALES[language], { hour12: false });
}

/** Day and month. */
export function formatDay(date: Date, language: Language): string {
  return date.toLocaleDateString(LOCALES[language], { day: 'numeric', month: 'short' });
}

/** Date and time to the millisecond, for details. */
export function formatExact(at: string | number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString().replace('T', ' ').replace('Z', '');
}

/** Time relative to now, for lists. */
export function formatAgo(at: string | number, now: number, language: Language): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  const format = new Intl.RelativeTimeFormat(LOCALES[language], { numeric: 'auto', style: 'narrow' });
  const size = Math.abs(seconds);
  if (size < 5) return format.format(0, 'second');
  if (size < 60) return format.format(Math.round(seconds), 'second');
  if (size < 3600) return format.format(Math.round(seconds / 60), 'minute');
  if (size < 86_400) return format.format(Math.round(seconds / 3600), 'hour');
  return format.format(Math.round(seconds / 86_400), 'day');
}

/** The present time, renewed each `everyMs` while `isOn`. */
export function useNow(everyMs: number, isOn = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isOn) return;
    const timer = window.setInterval(() => setNow(Date.now()), everyMs);
    return () => window.clearInterval(timer);
  }, [everyMs, isOn]);
  return now;
}
