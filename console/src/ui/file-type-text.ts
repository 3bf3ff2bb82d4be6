/** Types of files in words. */

const NAMES: Readonly<Record<string, string>> = {
  'application/pdf': 'PDF document',
  'application/zip': 'Zip archive',
  'application/msword': 'Word document',
  'application/vnd.ms-excel': 'Excel workbook',
  'application/vnd.ms-powerpoint': 'PowerPoint presentation',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'Word document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'Excel workbook',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'PowerPoint presentation',
  'text/calendar': 'Calendar',
  'text/csv': 'Table (CSV)',
  'text/html': 'Web page',
  'text/plain': 'Text',
};
const FAMILIES: Readonly<Record<string, string>> = { image: 'image', audio: 'audio file', video: 'video' };
const INVITATION = /^text\/calendar;.*\bmethod=/i;

/** @param contentType a media type, with its parameters, such as `image/png`: "PNG image" */
export function fileTypeText(contentType: string): string {
  if (INVITATION.test(contentType)) return 'Invitation';
  const [type = ''] = contentType.toLowerCase().split(';');
  const [family = '', kind = ''] = type.trim().split('/');
  const known = NAMES[type.trim()];
  if (known !== undefined) return known;
  const name = FAMILIES[family];
  return name === undefined ? type.trim() : `${kind.replace(/^x-|\+.*$/g, '').toUpperCase()} ${name}`;
}
