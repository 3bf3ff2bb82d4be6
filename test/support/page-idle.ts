import type { BrowserContext, Page, Request } from 'playwright-core';

/**
 * Resolves after a moment, when the page has shown what it was given: the browser has nothing else to do for it. Timers
 * that the page had set before, for what it does next, have run then.
 */
const NEXT_IDLE = 'new Promise((resolve) => setTimeout(() => requestIdleCallback(() => resolve(null)), 50))';
/** A page may ask for more after it has shown what it got. */
const TIMES_IDLE = 2;

interface PageIdle {
  /** Follows the requests of all pages of the context. */
  follow(context: BrowserContext): void;
  /**
   * Waits until a page has asked for its data, got it and shown it. Unlike Playwright's `networkidle`, this
   * takes no half second on a page that is ready, and on a busy machine waits for as long as the page works.
   * @throws Error that names the open requests
   */
  wait(page: Page): Promise<void>;
}

/** @param limitMs how long a page may take */
export function createPageIdle(limitMs: number): PageIdle {
  const open = new Map<Request, Page>();
  const openOf = (page: Page) => [...open].flatMap(([request, of]) => (of === page ? request.url() : []));
  return {
    follow(context) {
      context.on('page', (page) => {
        page.on('request', (request) => open.set(request, page));
        page.on('requestfinished', (request) => open.delete(request));
        page.on('requestfailed', (request) => open.delete(request));
      });
    },
    async wait(page) {
      const end = Date.now() + limitMs;
      for (let times = 0; times < TIMES_IDLE;) {
        await page.evaluate(NEXT_IDLE);
        const left = openOf(page);
        times = left.length === 0 ? times + 1 : 0;
        if (Date.now() > end) throw new Error(`${page.url()} still asks for ${left.join(', ') || 'nothing'}`);
      }
    },
  };
}
