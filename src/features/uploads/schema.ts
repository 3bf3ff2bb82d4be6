import { z } from 'zod';

/** The answer of `POST /v1/my/uploads`. */
export const uploadSchema = z
  .object({
    signed_id: z.string().meta({ description: 'What avatar, banner and logo take.' }),
    url: z.url().meta({ description: 'Where anybody may fetch the file.' }),
    content_type: z.string().meta({ description: 'By its content, whatever the client said of it.' }),
    size: z.int().meta({ description: 'Bytes.' }),
  })
  .meta({ id: 'Upload' });

export type UploadBody = z.infer<typeof uploadSchema>;
