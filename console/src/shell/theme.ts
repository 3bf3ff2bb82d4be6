import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'carillon.theme';
const ORDER: readonly Theme[] = ['system', 'light', 'dark'];
const listeners = new Set<() => void>();

const isTheme = (value: string | null): value is Theme => ORDER.some((theme) => theme === value);

export function currentTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return isTheme(stored) ? stored : 'system';
}

export const nextTheme = (theme: Theme): Theme =>
  ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length] ?? 'system';

/** The style sheet follows the attribute; without it, the setting of the system. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme(theme);
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useTheme = (): Theme => useSyncExternalStore(subscribe, currentTheme);
