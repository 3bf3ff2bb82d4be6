/** Renders the template that it reads from its input, and writes the text or the name of the error. */
import { json } from 'node:stream/consumers';
import { RenderError } from '../../../src/delivery/contents/content.ts';
import { createContentEngine } from '../../../src/delivery/contents/engine.ts';
import { valuesOf } from './sources.ts';

const input = (await json(process.stdin)) as { template: string; variables: Record<string, unknown> };
const engine = createContentEngine({ threads: 1 });
const content = { id: null, accountId: 1, subject: null, html: null, text: input.template };
try {
  const { text } = await engine.render(content, valuesOf(input.variables));
  process.stdout.write(text ?? '');
} catch (error) {
  process.stdout.write(error instanceof RenderError ? 'RenderError' : String(error));
}
await engine.close();
