import type { Upload } from './model.ts';
import type { UploadBody } from './schema.ts';
import { uploadUrl } from './service.ts';

export function presentUpload(upload: Upload, signedId: string, publicUrl: string): UploadBody {
  return {
    signed_id: signedId,
    url: uploadUrl(publicUrl, signedId),
    content_type: upload.contentType,
    size: upload.size,
  };
}
