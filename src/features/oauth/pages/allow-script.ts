/** How long a user must have the request before their eyes before an answer counts, in ms. */
export const READING_MS = 1_000;

/**
 * Lets the button that allows access work only after it was seen for a second, in a window that had the focus all the
 * time. A foreign page could otherwise show this one below the pointer between the two clicks of a double click, or bring
 * a window to the front that was loaded long before. Not `disabled`, so that the button can have the focus meanwhile.
 */
export const ALLOW_SCRIPT = `(() => {
  const form = document.querySelector('form[action$="/consent"]');
  const button = form.querySelector('button');
  let isSeen = false;
  let timer;
  const set = (isReady) => button.setAttribute('aria-disabled', String(!isReady));
  const restart = () => {
    clearTimeout(timer);
    set(false);
    if (isSeen && document.hasFocus() && document.visibilityState === 'visible') timer = setTimeout(set, ${READING_MS}, true);
  };
  form.addEventListener('submit', (event) => {
    if (button.getAttribute('aria-disabled') === 'true' || !document.hasFocus()) event.preventDefault();
  });
  addEventListener('focus', restart);
  addEventListener('blur', restart);
  addEventListener('pageshow', restart);
  document.addEventListener('visibilitychange', restart);
  new IntersectionObserver((entries) => {
    isSeen = entries.at(-1).intersectionRatio >= 0.9;
    restart();
  }, { threshold: 0.9 }).observe(button);
  restart();
})();`;
