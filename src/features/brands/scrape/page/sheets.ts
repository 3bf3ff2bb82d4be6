/** Finds a page's stylesheets, and brings their rules into the right order. */
import { type Element, isText } from 'domhandler';
import type { Page } from './document.ts';
import { decodeCss } from './encoding.ts';
import type { FetchedSheet } from './jobs.ts';
import { importsOf, Stylesheets } from './stylesheets.ts';
import { webAddress } from './texts.ts';

const MAX_SHEETS = 50;

function isScreen({ attribs }: Element): boolean {
  const media = (attribs.media ?? '').toLowerCase().slice(0, 200);
  return !/\bprint\b|prefers-color-scheme\s*:\s*dark/.test(media) || /\bnot\b|\bscreen\b/.test(media);
}

function sheetAddress(element: Element, { base }: Page): string | null {
  const { name, attribs } = element;
  if (name !== 'link' || !attribs.href) return null;
  const rel = (attribs.rel ?? '').toLowerCase().slice(0, 100).split(/\s+/);
  if (!rel.includes('stylesheet') || rel.includes('alternate')) return null;
  return isScreen(element) ? webAddress(attribs.href, base) : null;
}

function textOfStyle({ children }: Element): string {
  return children.map((child) => (isText(child) ? child.data : '')).join('');
}

function isStyle(element: Element): boolean {
  return element.name === 'style' && isScreen(element);
}

/** The URLs of a page's stylesheets, including those that its own style elements import, in their order. */
export function findSheets(page: Page): string[] {
  const found = new Set<string>();
  for (const element of page.elements) {
    if (isStyle(element)) for (const each of importsOf(textOfStyle(element), page.base)) found.add(each);
    const address = sheetAddress(element, page);
    if (address !== null) found.add(address);
    if (found.size >= MAX_SHEETS) break;
  }
  return [...found].slice(0, MAX_SHEETS);
}

/** The rules that a stylesheet imports come before its own. */
function add(sheets: Stylesheets, sheet: FetchedSheet): void {
  for (const each of sheet.imported) add(sheets, each);
  sheets.add(decodeCss(sheet));
}

/**
 * All rules of a page.
 * @param fetched the stylesheets that could be fetched
 */
export function sheetsIn(page: Page, fetched: readonly FetchedSheet[]): Stylesheets {
  const byAddress = new Map(fetched.map((sheet) => [sheet.address, sheet]));
  const sheets = new Stylesheets();
  const addOnce = (address: string) => {
    const sheet = byAddress.get(address);
    if (sheet) add(sheets, sheet);
    byAddress.delete(address);
  };
  for (const element of page.elements) {
    if (isStyle(element)) {
      const css = textOfStyle(element);
      importsOf(css, page.base).forEach(addOnce);
      sheets.add(css);
    }
    const address = sheetAddress(element, page);
    if (address !== null) addOnce(address);
  }
  return sheets;
}
