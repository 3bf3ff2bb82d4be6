import type { UploadBody } from './schema.ts';
import { uploadUrl, type UploadRow } from './service.ts';

/** Presents an upload to clients. */
export function presentUpload(upload: UploadRow, signedId: string, publicUrl: string): UploadBody {
  return {
    signed_id: signedId,
    url: uploadUrl(publicUrl, signedId),
    content_type: upload.content_type,
    size: upload.size,
  };
}
