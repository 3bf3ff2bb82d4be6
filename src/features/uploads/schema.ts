import { z } from 'zod';

/** The response of `POST /v1/my/uploads`. */
export const uploadSchema = z
  .object({
    signed_id: z.string().meta({ description: 'The value to use for `avatar`, `banner` or `logo`.' }),
    url: z.url().meta({ description: 'The public URL of the file.' }),
    content_type: z
      .string()
      .meta({ description: 'Detected from the content, whatever type the client claimed.' }),
    size: z.int().meta({ description: 'Bytes.' }),
  })
  .meta({ id: 'Upload' });

export type UploadBody = z.infer<typeof uploadSchema>;
