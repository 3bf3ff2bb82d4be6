import { z } from 'zod';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idFilter, pageQuery } from '../../platform/db/paging.ts';

const actorKind = z.enum(['user', 'api_key', 'operator', 'system']);

export const auditEntrySchema = z
  .object({
    id: z.int(),
    created_at: z.iso.datetime(),
    actor_kind: actorKind,
    actor_id: z.int().nullable().meta({ description: 'The id of the user or API key.' }),
    actor_name: z.string().nullable().meta({
      description:
        'At that time: the email address of the user, the prefix and name of the key, or the name of the operator.',
    }),
    action: z.string().meta({
      description: 'The operation id of the API, such as `sendCampaign`, or the command, such as `user add`.',
    }),
    brand_id: z.int().nullable(),
    resource_id: z.string().nullable().meta({
      description: 'What the path of the request names, or else what it created.',
    }),
    status: z.int().nullable().meta({
      description:
        'The status of the response. Null: the change was begun, and its outcome is unknown; commands have none either.',
    }),
    ip: z.string().nullable(),
    request_id: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof auditEntrySchema>;

const MAX_ACTION = 100;

export const listAuditQuery = z.strictObject({
  ...pageQuery,
  actor_kind: actorKind.optional(),
  actor_id: idFilter,
  action: z.string().min(1).max(MAX_ACTION).optional(),
  created_after: filterTime.optional(),
  created_before: filterTime.optional(),
});
export type ListAuditQuery = z.output<typeof listAuditQuery>;
