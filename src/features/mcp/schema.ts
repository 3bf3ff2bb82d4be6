import { z } from 'zod';
import { mcpScopes } from '../../platform/auth/grant-caller.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idFilter, pageQuery } from '../../platform/db/paging.ts';

/** A message of JSON-RPC 2.0, as the protocol sends one in each request. */
export const rpcMessageBody = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: z.unknown().optional().meta({ description: 'A text or an integer; notifications have none.' }),
    method: z.string().max(200).optional(),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: 'McpMessage' });
export type RpcMessage = z.output<typeof rpcMessageBody>;

export const rpcAnswerSchema = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    result: z.looseObject({}).optional(),
    error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
  })
  .meta({ id: 'McpAnswer' });

/** RFC 9728. */
export const protectedResourceSchema = z
  .object({
    resource: z.url().meta({ description: 'The MCP endpoint, which clients name in `resource`.' }),
    resource_name: z.string(),
    authorization_servers: z.array(z.url()),
    scopes_supported: z.array(z.enum(mcpScopes)),
    bearer_methods_supported: z.array(z.literal('header')),
  })
  .meta({ id: 'ProtectedResource' });
export type ProtectedResource = z.infer<typeof protectedResourceSchema>;

export const mcpCallSchema = z
  .object({
    id: z.int(),
    created_at: z.iso.datetime(),
    grant_id: z.int().meta({ description: 'The grant by which the user allowed the assistant to act.' }),
    user_id: z.int(),
    user_email: z.string().nullable().meta({ description: 'Null if the user was removed from the service.' }),
    client_id: z.string(),
    client_name: z.string().meta({ description: 'What the client calls itself; not verified.' }),
    brand_id: z.int().nullable(),
    tool: z.string(),
    operation: z.string().nullable().meta({
      description: 'The operation id of the API. Null: the tool needs none, or the call named none.',
    }),
    resource_id: z.string().nullable().meta({ description: 'What the call names, or else what it created.' }),
    outcome: z
      .string()
      .nullable()
      .meta({
        description:
          '`ok`, `asked` if the user must confirm the call first, or the code of the refusal. Null: the call was begun, ' +
          'and its outcome is unknown.',
      }),
    request_id: z.string(),
  })
  .meta({ id: 'McpCall' });
export type McpCall = z.infer<typeof mcpCallSchema>;

export const listMcpCallsQuery = z.strictObject({
  ...pageQuery,
  user_id: idFilter,
  grant_id: idFilter,
  tool: z.string().min(1).max(100).optional(),
  outcome: z.string().min(1).max(100).optional(),
  created_after: filterTime.optional(),
  created_before: filterTime.optional(),
});
export type ListMcpCallsQuery = z.output<typeof listMcpCallsQuery>;
