import { z } from 'zod';
import { flagFilter, pageQuery } from '../../platform/db/paging.ts';

/** An upload as clients see it. */
export const uploadSchema = z
  .object({
    id: z.int().meta({ description: 'Its place in the list, for `after`.' }),
    signed_id: z.string().meta({ description: 'The value to use for `avatar`, `banner` or `logo`.' }),
    url: z.url().meta({ description: 'The public URL of the file.' }),
    filename: z.string(),
    content_type: z
      .string()
      .meta({ description: 'Detected from the content, whatever type the client claimed.' }),
    size: z.int().meta({ description: 'Bytes.' }),
    kept: z.boolean().meta({
      description:
        'Whether it stays until it is deleted. Others are removed after 30 days unless they are an avatar, banner or logo.',
    }),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Upload' });

export type UploadBody = z.infer<typeof uploadSchema>;

export const listUploadsQuery = z.strictObject({
  ...pageQuery,
  images: flagFilter.meta({ description: '`true`: only PNG, JPEG, GIF and WebP, which browsers display.' }),
});

export const uploadUsageSchema = z
  .object({
    used_bytes: z.int().meta({ description: 'The size of all uploads of the account, of all its brands.' }),
    quota_bytes: z.int().meta({ description: 'What they may use together.' }),
  })
  .meta({ id: 'UploadUsage' });
export type UploadUsage = z.infer<typeof uploadUsageSchema>;
