/**
 * The script of the page. It inserts each payload as a client might: into an element, again from what the browser made of
 * it, and as a document of its own. Then it does what a reader might do.
 */
window.showAll = function showAll(samples, tags, attributes) {
  const ran = new Set();
  const forbidden = [];
  let current = -1;
  Object.assign(window, { ran: (n) => ran.add(n === 1 ? current : n) });
  const check = (root, n) => {
    for (const element of root.querySelectorAll('*')) {
      const name = element.localName;
      if (!tags.includes(name) && !['html', 'head', 'body'].includes(name)) forbidden.push(`${n}: <${name}>`);
      for (const { name: attribute } of element.attributes) {
        if (!attributes.includes(attribute)) forbidden.push(`${n}: ${attribute}=`);
      }
      if (name === 'a' && element.hasAttribute('href')) {
        const { protocol } = element;
        if (!['http:', 'https:', 'mailto:'].includes(protocol)) forbidden.push(`${n}: ${protocol}`);
      }
    }
  };
  const act = (root) => {
    for (const element of root.querySelectorAll('*')) {
      for (const type of ['mouseover', 'pointerenter', 'mousedown', 'mouseup']) {
        element.dispatchEvent(new MouseEvent(type, { bubbles: true }));
      }
      element.focus?.();
      // A link that leads elsewhere is for the reader to follow.
      const leaves = element.localName === 'a' && /^(?:https?|mailto):/.test(element.href);
      if (!leaves) element.click?.();
    }
  };
  const insert = (html) => {
    const element = document.createElement('div');
    document.body.append(element);
    element.innerHTML = html;
    return element;
  };
  const frameOf = (html) =>
    new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.onload = () => resolve(frame);
      frame.srcdoc = html;
      document.body.append(frame);
    });
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const run = async () => {
    for (const [n, html] of samples.entries()) {
      current = n;
      const first = insert(html);
      const second = insert(first.innerHTML);
      const frame = await frameOf(html);
      const roots = [first, second, ...(frame.contentDocument ? [frame.contentDocument] : [])];
      for (const root of roots) {
        check(root, n);
        act(root);
      }
      await pause(20);
    }
    await pause(1_000);
    const body = JSON.stringify({ ran: [...ran], forbidden, shown: samples.length });
    await fetch('/done', { method: 'POST', body });
  };
  void run();
};
