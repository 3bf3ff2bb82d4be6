import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type { AppError, ErrorCode, ValidationErrors } from '../../errors.ts';
import type { RouteResult } from './route.ts';

/** The one error shape (interface section 7). */
export interface ErrorBody {
  error: true;
  code: ErrorCode;
  message: string;
  validation_errors: ValidationErrors;
}

export function errorBody(error: AppError): ErrorBody {
  return {
    error: true,
    code: error.code,
    message: error.message,
    validation_errors: error.validationErrors,
  };
}

/** What every answer carries; a route's own header of the same name wins. */
const ALWAYS: Record<string, string> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export interface ResponseWriter {
  /** @param headers flat name and value pairs beyond the result's own */
  send(response: ServerResponse, result: RouteResult, headers: string[]): void;
}

/**
 * Writes answers with as few steps as Node allows: one flat header list, one buffer.
 * @param https whether clients come by https, so that they may be told to keep to it
 */
export function createResponseWriter(https: boolean): ResponseWriter {
  const always: Record<string, string> = https
    ? { ...ALWAYS, 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }
    : ALWAYS;
  const alwaysFlat = Object.entries(always).flat();

  function headerList(own: Record<string, string> | undefined, headers: string[]): string[] {
    if (!own) return [...alwaysFlat, ...headers];
    const merged = Object.entries({ ...always, ...own }).flat();
    return [...merged, ...headers];
  }

  return {
    send(response, result, headers) {
      const list = headerList(result.headers, headers);
      if ('raw' in result) {
        const { contentType, body } = result.raw;
        list.push('Content-Type', contentType);
        if (typeof body === 'string' || Buffer.isBuffer(body)) {
          list.push('Content-Length', String(Buffer.byteLength(body)));
          response.writeHead(result.status, list).end(body);
          return;
        }
        response.writeHead(result.status, list);
        // A source that breaks ends the connection: the client sees that the answer is not whole.
        pipeline(body, response, () => undefined);
        return;
      }
      if (result.status === 204) {
        response.writeHead(204, list).end();
        return;
      }
      const body = JSON.stringify(result.body ?? null);
      list.push('Content-Type', 'application/json; charset=utf-8');
      list.push('Content-Length', String(Buffer.byteLength(body)));
      response.writeHead(result.status, list).end(body);
    },
  };
}
