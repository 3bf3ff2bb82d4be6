/**
 * Writes the HTML of five designs, from which the images in docs/images are made: run `node
 * test/delivery/content/templates/write-designs.ts <folder>`, then open the files in a browser 700 pixels wide.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CompiledContent } from '../../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../../src/delivery/content/templates/engine.ts';
import { designs } from './designs.ts';
import { valuesOf } from './sources.ts';

const SHOWN = ['welcome', 'newsletter', 'order confirmation', 'dark theme', 'receipt'];
const folder = process.argv[2] ?? '.';
const image = (color: string) =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 240"><rect width="600" height="240" fill="${color}"/></svg>`)}`;

const engine = createContentEngine({ threads: 1, compileMs: 60_000 });
mkdirSync(folder, { recursive: true });
for (const name of SHOWN) {
  const { content } = await engine.compile(designs[name] as (typeof designs)[string], 1);
  const { html } = await engine.render(
    { ...(content as CompiledContent), id: null, accountId: 1 },
    {
      ...valuesOf({
        order: {
          number: 1017,
          date: '2026-03-01',
          url: 'https://acme.example/o/1017',
          items: [
            { name: 'Teacup', price: '12.00 EUR' },
            { name: 'Umbrella', price: '29.90 EUR' },
          ],
        },
        currency: 'EUR',
      }),
      event: { resource_name: 'Plan “Pro”', amount: 12.5, created_at: '2026-03-01T23:30:00Z' },
    },
  );
  // The pictures of the examples do not exist, so plain areas replace them.
  const shown = (html ?? '').replaceAll(
    /src="https:\/\/cdn\.acme\.example\/(\w+)\.png"/g,
    (_all, picture: string) => `src="${image(picture === 'logo' ? '#1f4fbf' : '#c9d6ea')}"`,
  );
  writeFileSync(join(folder, `${name.replaceAll(' ', '-')}.html`), shown);
}
await engine.close();
