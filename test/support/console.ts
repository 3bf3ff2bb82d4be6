/** A whole Carillon, and a real Chromium that uses its console, for the tests of a file. */
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { type RunningConsole, startConsole, type TestConsole } from './console-stage.ts';

export { submitLogin } from './console-stage.ts';

/**
 * Starts a browser and creates two accounts before the tests of a file, in a whole service that the files of a run share.
 * After each test, fails it if a page had an unexpected problem. Windows stay open for the next tests.
 * @returns a function that returns them
 */
export function useConsole(): () => TestConsole {
  let started: RunningConsole | undefined;
  const current = () => {
    if (!started) throw new Error('the console has not started');
    return started;
  };
  beforeAll(async () => {
    started = await startConsole();
  }, 180_000);
  afterEach(() => current().requireNoProblems());
  afterAll(() => started?.close());
  return current;
}

const SERIOUS = new Set<string | null | undefined>(['serious', 'critical']);

/**
 * @param rules of axe to check; by default all
 * @throws Error with the serious findings of axe
 */
export async function checkAccessibility(page: Page, rules?: readonly string[]): Promise<void> {
  // Playwright evaluates past the policy of the page, which allows no other script.
  await page.evaluate(`${axe.source}; undefined`);
  const options: axe.RunOptions = { preload: false, ...(rules && { runOnly: [...rules] }) };
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  const serious = violations.filter(({ impact }) => SERIOUS.has(impact));
  if (serious.length === 0) return;
  const lines = serious.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}\n  ${html}\n  ${failureSummary ?? ''}`),
  );
  throw new Error(`not accessible: ${page.url()}\n${lines.join('\n')}`);
}
