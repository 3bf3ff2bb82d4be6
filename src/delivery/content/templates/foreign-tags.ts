/**
 * Finds the tags of other tools in what an author moved here from them. Liquid does not know them, so recipients would
 * read them. Each form is in the public documentation of the tools that are named.
 */

/** Names that tools give to values and to their own pages. Alone they decide only for brackets that texts use, too. */
const FIELD =
  '(?:(?:first|last|full|middle|sur|user|company|contact|recipient|subscriber|customer|list|campaign)[ _.-]?)?name|[fl]name|' +
  '(?:contact|subscriber|user)?[ _.-]?e-?mail(?:[ _-]?addr(?:ess)?)?|salutation|greeting|user[ _-]?id|subscriber[ _-]?id|' +
  'mirror(?:[ _-]?(?:link|url))?|view[ _-]?(?:in[ _-]?browser|online)(?:[ _-]?(?:link|url))?|web[ _-]?(?:version|view|link)(?:[ _-]?(?:link|url))?|' +
  '(?:list[ _-]?)?unsub(?:scribe|scription)?(?:[ _-]?(?:link|url|preferences))?|opt[ _-]?out(?:[ _-]?(?:link|url))?|' +
  '(?:update[ _-]?)?(?:preferences|profile)(?:[ _-]?(?:link|url))?|(?:sender|company|physical)[ _-]?address|address[ _-]?line';

interface Form {
  tool: string;
  /** Bounded, so that each takes linear time. */
  pattern: string;
  /** Flags in addition to `g`: most forms have any case. */
  flags?: '';
}

const FORMS: readonly Form[] = [
  // https://mailchimp.com/help/all-the-merge-tags-cheat-sheet/; Mandrill and Ecomail have the same.
  { tool: 'Mailchimp', pattern: String.raw`\*\|[a-z][^|*<>\n]{0,100}\|\*` },
  // AMPscript and substitution strings; Account Engagement, Acoustic, Interspire and Bronto have the plain form.
  {
    tool: 'Salesforce Marketing Cloud',
    pattern: String.raw`%%(?:=[^%]{1,300}=|\[[^%]{1,500}\]|!?[a-z_][\w .:-]{0,100})%%`,
  },
  {
    tool: 'Mailgun',
    pattern: String.raw`%(?:recipient(?:\.[\w.-]{1,100})?|(?:mailing_list_|tag_)?unsubscribe_(?:url|email))%`,
  },
  // Percent-encoded URLs have no underscores and hyphens between two percent signs in capitals only.
  { tool: 'ActiveCampaign', pattern: String.raw`%[A-Z][A-Z0-9]{0,40}[_-][A-Z0-9_|-]{1,60}%`, flags: '' },
  { tool: 'ActiveCampaign', pattern: `%(?:${FIELD}|unsubscribelink|webcopy|forward2friend)%` },
  // https://docs.sendgrid.com/for-developers/sending-email/substitution-tags; Emma has the first form.
  { tool: 'SendGrid', pattern: String.raw`\[%\s?[a-z][^%\]\n]{0,100}%\]` },
  { tool: 'SendGrid', pattern: `(?<![\\w-])-(?:${FIELD})-(?![\\w-])` },
  { tool: 'SendGrid', pattern: String.raw`<%(?:asm_\w{1,60}|\w{0,20}unsubscribe\w{0,20})%>` },
  // Also Ruby (ERB), ASP and EJS.
  { tool: 'Adobe Campaign', pattern: String.raw`<%[=@#!-]?\s?[^%>]{1,200}%>` },
  { tool: 'PHP', pattern: String.raw`<\?(?:php\b|=)[^?>]{0,200}(?:\?>)?` },
  // Also Velocity (Marketo), Mako (Odoo) and JSP.
  { tool: 'FreeMarker', pattern: String.raw`\$!?\{[a-z_!][^{}\n]{0,200}\}` },
  { tool: 'FreeMarker', pattern: String.raw`</?#(?:if|else|elseif|list|assign|include)\b[^>]{0,200}>` },
  { tool: 'Mailjet', pattern: String.raw`\[\[\s?(?:data|var):[^[\]\n]{1,100}\]\]` },
  // Also Omnisend.
  { tool: 'GetResponse, Mailjet or Constant Contact', pattern: String.raw`\[\[\s?[a-z][^[\]\n]{0,200}\]\]` },
  { tool: 'Constant Contact', pattern: String.raw`\$[A-Z][A-Z_]{1,30}\.[A-Z_]{2,60}\$`, flags: '' },
  // Also Salesforce.
  { tool: 'AWeber', pattern: String.raw`\{!\s?[a-z][^{}\n]{0,100}\}` },
  { tool: 'MailerLite', pattern: String.raw`\{\$[a-z_]\w{0,60}\}` },
  { tool: 'Zoho Campaigns', pattern: String.raw`\$\[[A-Z][^[\]\n]{0,100}\]\$` },
  {
    tool: 'Dotdigital',
    pattern: String.raw`(?<![\w@])@[A-Z][A-Z0-9_]{2,60}@(?![\w@])|\$[A-Z]{3,30}\$`,
    flags: '',
  },
  {
    tool: 'Mautic',
    pattern: String.raw`\{(?:(?:contact|lead|owner)field=[^{}\n]{1,100}|pagelink=\d{1,10}|(?:webview|unsubscribe|resubscribe|dnc)_(?:text|url))\}`,
  },
  // Also Benchmark.
  {
    tool: 'MailPoet',
    pattern: String.raw`\[(?:subscriber|newsletter|link|date|site|user|contact_attribute):[^\]\n]{1,100}\]`,
  },
  // https://help.campaignmonitor.com/personalize-emails-with-tags; Sendy has the same.
  { tool: 'Campaign Monitor', pattern: String.raw`\[[a-z][\w .:-]{0,60},\s?fallback=[^\]\n]{0,100}\]` },
  {
    tool: 'Campaign Monitor',
    pattern: String.raw`<(?:unsubscribe|webversion|forwardtoafriend|preferences|current(?:day|dayname|month|monthname|year)|singleline|multiline|repeater)\b[^<>]{0,200}>`,
  },
  { tool: 'CiviCRM', pattern: String.raw`\{(?:contact|domain|action|mailing|membership|event)\.\w{1,60}\}` },
  { tool: 'Keap', pattern: String.raw`~[a-z]\w{1,30}\.[\w.]{1,60}~` },
  { tool: 'Moosend', pattern: String.raw`#(?:recipient:[^#\s]{1,60}|unsubscribelink|[a-z]{3,20}link)#` },
  { tool: 'listmonk', pattern: '@TrackLink\\b' },
  // Brevo, MailerLite, Elastic Email, Sailthru, Ghost and others.
  { tool: 'another tool', pattern: String.raw`\{(?:${FIELD})(?:\s?[,|][^{}\n]{0,60})?\}` },
  { tool: 'another tool', pattern: String.raw`\{[A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){1,4}\}`, flags: '' },
  // Campaign Monitor, Sendy, phpList, MailWizz, Cakemail, Brevo and others.
  {
    tool: 'another tool',
    pattern: String.raw`\[(?:${FIELD}|unsubscribeurl|preferencesurl|forwardurl)(?:\s?[,|][^\]\n]{0,60})?\]`,
  },
  { tool: 'another tool', pattern: String.raw`\[[A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){1,4}\]`, flags: '' },
];

const PATTERNS = FORMS.map(({ tool, pattern, flags = 'i' }) => ({
  tool,
  pattern: new RegExp(pattern, `g${flags}`),
}));

export interface ForeignTag {
  tag: string;
  tool: string;
  start: number;
}

/** The tags of other tools in a text, in order. What two forms match counts as the first one. */
export function foreignTags(text: string): ForeignTag[] {
  const found: ForeignTag[] = [];
  for (const { tool, pattern } of PATTERNS) {
    for (const { 0: tag, index: start } of text.matchAll(pattern)) found.push({ tag, tool, start });
  }
  let end = 0;
  return found
    .toSorted((one, other) => one.start - other.start)
    .filter(({ start, tag }) => {
      if (start < end) return false;
      end = start + tag.length;
      return true;
    });
}
