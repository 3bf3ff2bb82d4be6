const KEY = 'carillon.reloaded-at';
const MIN_INTERVAL_MS = 60_000;

/**
 * After a deployment, chunks of the previous build are gone. Reloads the page once, which then has the new ones. Drafts
 * are in the session storage, so they stay.
 */
export function reloadOnMissingChunk(): void {
  globalThis.addEventListener('vite:preloadError', (event) => {
    const last = Number(sessionStorage.getItem(KEY) ?? 0);
    if (Date.now() - last < MIN_INTERVAL_MS) return;
    event.preventDefault();
    sessionStorage.setItem(KEY, String(Date.now()));
    globalThis.location.reload();
  });
}
