import { z } from 'zod';
import { mcpScopes } from '../../platform/auth/grant-caller.ts';
import { idParam, pageQuery } from '../../platform/db/paging.ts';

export const mcpGrantSchema = z
  .object({
    id: z.int(),
    user_id: z.int(),
    user_email: z.string(),
    client_name: z.string().meta({ description: 'What the application calls itself. It is not verified.' }),
    client_host: z.string().nullable().meta({
      description: 'The host that describes the application; null if it has registered itself.',
    }),
    redirect_host: z.string().meta({
      description: 'Where the user returned to: a host, or the scheme of an application.',
    }),
    scopes: z.array(z.enum(mcpScopes)),
    brand_ids: z.array(z.int()).meta({
      description: 'The brands of this account that the user chose. Empty: the account had no brand.',
    }),
    created_at: z.iso.datetime(),
    last_used_at: z.iso.datetime().nullable(),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'McpGrant' });
export type McpGrant = z.infer<typeof mcpGrantSchema>;

export const mcpGrantParams = z.strictObject({ id: idParam });
export const listMcpGrantsQuery = z.strictObject(pageQuery);
