/** Renders or compiles the template that it reads from its input, and writes the text, a problem or the name of the error. */
import { json } from 'node:stream/consumers';
import { RenderError } from '../../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../../src/delivery/content/templates/engine.ts';
import { brand, valuesOf, withBody, withDesign } from './sources.ts';

/** The input of the process. */
export type Alone =
  | { template: string; variables: object }
  | { mjml: string }
  | { design: unknown; links: { url: string; icon: string; title: string }[] };

const input = (await json(process.stdin)) as Alone;
const engine = createContentEngine({ threads: 1, compileMs: 60_000 });

async function work(): Promise<string> {
  if (!('template' in input)) {
    const source =
      'mjml' in input
        ? withBody(input.mjml)
        : withDesign(input.design, { brand: { ...brand, links: input.links } });
    const { problems } = await engine.compile(source, 1);
    return problems.map(({ message }) => message).join();
  }
  const content = { id: null, accountId: 1, subject: null, html: null, text: input.template };
  const { text } = await engine.render(content, valuesOf(input.variables as Record<string, unknown>));
  return text ?? '';
}

try {
  process.stdout.write(await work());
} catch (error) {
  process.stdout.write(error instanceof RenderError ? 'RenderError' : String(error));
}
await engine.close();
