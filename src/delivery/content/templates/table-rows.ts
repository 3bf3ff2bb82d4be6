/**
 * The Liquid tag `tablerow`. The library's ignores `break` and `continue`, and so drops the rest of the content; and it
 * writes a table also where a content is text.
 */
import { type Context, type Emitter, evalToken, TablerowTag, toValue } from 'liquidjs';
import type { Mode } from './filters.ts';

/** What separates the cells of a row, and the rows. */
interface Frame {
  rowStart: (row: number) => string;
  rowEnd: string;
  cellStart: (column: number) => string;
  cellEnd: string;
}

const HTML: Frame = {
  rowStart: (row) => `<tr class="row${row}">`,
  rowEnd: '</tr>',
  cellStart: (column) => `<td class="col${column}">`,
  cellEnd: '</td>',
};
const TEXT: Frame = {
  rowStart: (row) => (row === 1 ? '' : '\n'),
  rowEnd: '',
  cellStart: (column) => (column === 1 ? '' : ' '),
  cellEnd: '',
};

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'string') return value === '' ? [] : [value];
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/** The variable `tablerowloop`. */
function loopAt(index: number, length: number, columns: number) {
  const column = index % columns;
  return {
    length,
    row: Math.floor(index / columns) + 1,
    col: column + 1,
    col0: column,
    col_first: column === 0,
    col_last: column + 1 === columns,
    index: index + 1,
    index0: index,
    rindex: length - index,
    rindex0: length - index - 1,
    first: index === 0,
    last: index === length - 1,
  };
}

export function tableRowTag(mode: Mode): typeof TablerowTag {
  const frame = mode === 'html' ? HTML : TEXT;
  return class extends TablerowTag {
    override *render(context: Context, emitter: Emitter): Generator<unknown, void> {
      const given = listOf(toValue((yield evalToken(this.collection, context)) as unknown));
      const args = (yield this.args.render(context)) as Record<string, unknown>;
      const offset = Number(args['offset']) || 0;
      const list = given.slice(
        offset,
        args['limit'] === undefined ? undefined : offset + Number(args['limit']),
      );
      const columns = Number(args['cols']) || list.length;
      const scope: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
      context.push(scope);
      for (const [index, item] of list.entries()) {
        const loop = loopAt(index, list.length, columns);
        Object.assign(scope, { tablerowloop: loop, [this.variable]: item });
        context.continueCalled = context.breakCalled = false;
        if (loop.col_first) emitter.write(frame.rowStart(loop.row));
        emitter.write(frame.cellStart(loop.col));
        yield this.liquid.renderer.renderTemplates(this.templates, context, emitter);
        emitter.write(frame.cellEnd);
        if (loop.col_last || loop.last || context.breakCalled) emitter.write(frame.rowEnd);
        if (context.breakCalled) break;
      }
      context.continueCalled = context.breakCalled = false;
      context.pop();
    }
  };
}
