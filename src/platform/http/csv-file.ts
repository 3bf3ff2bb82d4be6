import { Readable } from 'node:stream';
import type { Context } from 'koa';

/**
 * Whether the client asks for a list as a CSV file.
 * @param format the query parameter; without it, the `Accept` header decides
 */
export function wantsCsv(ctx: Pick<Context, 'accepts'>, format: 'csv' | 'json' | undefined): boolean {
  if (format !== undefined) return format === 'csv';
  return ctx.accepts('application/json', 'text/csv') === 'text/csv';
}

/** A response with a CSV file, written as it is read. @param name of the file, without its extension */
export function csvFile(name: string, pieces: AsyncIterable<string | Buffer>) {
  return {
    status: 200 as const,
    raw: { contentType: 'text/csv; charset=utf-8', body: Readable.from(pieces) },
    headers: {
      'Content-Disposition': `attachment; filename="${name}.csv"`,
      'Cache-Control': 'no-store',
    },
  };
}
