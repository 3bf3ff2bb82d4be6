import type { CallToolResult } from '@modelcontextprotocol/server';
import type { AppError } from '../../errors.ts';
import { errorBody } from '../../platform/http/reply.ts';

/** The result of a tool as clients get it: for programs, and the same as text for models. */
export function resultOf(content: Record<string, unknown>, isError = false): CallToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(content) }],
    structuredContent: content,
    ...(isError ? { isError } : {}),
  };
}

/** The result of a call that the API refuses: the body of the error response. */
export const refusalOf = (error: AppError): CallToolResult => resultOf({ ...errorBody(error) }, true);
