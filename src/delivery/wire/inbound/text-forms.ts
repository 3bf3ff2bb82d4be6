/**
 * Forms of bounces that are text for people, apart from those of `non-standard.ts`: of servers, appliances and mobile
 * carriers that report nothing in fields. Sources: samples in https://github.com/sisimai/set-of-emails,
 * https://github.com/cfortune/PHP-Bounce-Handler and https://github.com/mailtop/bounce_email.
 */
export interface TextForm {
  program: string;
  /** Words that the program writes only for a final failure. */
  failed: RegExp;
  /**
   * Where the server's reply is, or what the program says instead: the group of the first that matches or, if it has no
   * group, the paragraph after it.
   */
  replies: readonly RegExp[];
  /** Its warnings can quote a final reply, too. They have the words of a warning. */
  warns?: true;
}

export const textForms: readonly TextForm[] = [
  {
    program: 'Gmail before 2009',
    failed: /^Delivery to the following recipient failed permanently:$/m,
    replies: [
      /^Technical details of permanent failure: {0,9}\n/m,
      /^Delivery to the following recipient (failed permanently):$/m,
    ],
  },
  {
    program: 'Postfix before 2.3',
    failed:
      /^This is the (?:Postfix program|mail system) at host [^]{1,300}?could not\s{1,5}be delivered to one or more/m,
    replies: [/^<[^>\n]{1,320}>: /m],
  },
  {
    program: 'Postfix with the words of an operator, such as those of Yandex and iCloud',
    // A warning has a reply that is repeated, which is 4xx unless `soft_bounce` is set.
    warns: true,
    failed: /^<[^>\n]{1,320}>: host [^\s]{1,300} said:\s{1,9}5\d\d[ -]/m,
    replies: [/^<[^>\n]{1,320}>: (?=host [^\s]{1,300} said:\s{1,9}5\d\d[ -])/m],
  },
  {
    program: 'QQ Mail and NetEase',
    failed: /^退信原因[^\n]{0,300}(?:\n[^\n]{0,300})?said:? 5\d\d[ -]/m,
    replies: [/ said:? (5\d\d[ -][^\n]{1,1000})/],
  },
  {
    program: 'CommuniGate Pro',
    failed: /^Failed to deliver to '[^'\n]{1,320}'$/m,
    replies: [/^Failed to deliver to '[^'\n]{1,320}'\n/m],
  },
  {
    program: 'MailFoundry',
    failed: /^This has been a permanent failure\./m,
    replies: [/^Delivery failed for the following reason:\n/m],
  },
  {
    program: 'MailMarshal',
    failed: /^The following recipients were affected:/m,
    replies: [/^Could not be delivered because of\n{1,3}([^\n]{1,1000})/m],
  },
  {
    program: 'Sun Messaging Server and PMDF',
    failed: /^Your message cannot be delivered to the following recipients:$/m,
    replies: [/^ {0,8}Diagnostic code: ([^\n]{1,1000})/m, /^ {0,8}Reason: ([^\n]{1,1000})/m],
  },
  {
    program: 'Mimecast',
    failed: /^An email that you attempted to send to the following address could not be delivered:$/m,
    replies: [/^Additional information follows :\n{1,3}-- /m],
  },
  {
    program: 'Domino',
    failed: /^was not delivered to:$/m,
    replies: [/^because:\n{1,3}/m],
  },
  {
    program: 'Mail2000',
    failed: /^---The following addresses had delivery errors---$/m,
    replies: [/^---The following addresses had delivery errors---\n{1,3}[^\n[]{1,320}\[([^\]\n]{1,500})\]/m],
  },
  {
    program: 'SPAMSNIPER',
    failed: /^Your delivery to the following address has been failed\.$/m,
    replies: [/^Remote host said\[Response Message\]: ([^\n]{1,1000})/m],
  },
  {
    program: 'an appliance that gives technical details',
    failed: /^Del[ei]very to the following recipients (?:failed permanently|was aborted after )/m,
    replies: [/^ {0,60}Technical details: {0,60}\n{1,3}(?:=+\n{1,3})?/m],
  },
  {
    program: 'an appliance that counts errors',
    failed: /^We had trouble delivering your message\./m,
    replies: [/(?:It responded as follows|with the following error message): \[([^\]\n]{1,1000})\]/],
  },
  {
    program: 'InterScan',
    failed:
      /^Received >>> 5\d\d[ -]|^Reason: {1,9}Unable to deliver message to <|^Unable to deliver message to <[^>\n]{1,320}> \(and other/m,
    replies: [/^Received >>> (5\d\d[ -][^\n]{1,1000})/m, /(Unable to deliver message to )</],
  },
  {
    program: 'Apache James and vtext.com',
    failed: /^Error message below:$/m,
    replies: [/^Error message below:\n{1,3}(5\d\d[^\n]{1,1000})/m],
  },
  {
    program: 'au one net',
    failed: /^ {0,9}Could not be delivered to: </m,
    replies: [/^ {0,9}Could not be delivered to: <[^>\n]{1,320}> {0,3}\n {0,9}As ([^\n]{1,300})/m],
  },
  {
    program: 'EZweb',
    failed:
      /^Each of the following recipients was rejected by a remote\s{1,3}mail server\.$|^The user\(s\) account is /m,
    replies: [/^ {0,9}<<< (5\d\d[ -][^\n]{1,1000})/m, /^The user\(s\) (account is [^\n]{1,200})/m],
  },
  {
    program: 'BIGLOBE',
    failed: /^ {0,9}----- The following addresses had delivery problems -----$/m,
    replies: [/^ {0,9}----- Non-delivered information -----\n{1,3}([^\n]{1,500})/m],
  },
  {
    program: 'IMail',
    failed: /^Unable to deliver mail\.$|^Original message follows\.$/m,
    replies: [/^(User's mailbox is full): </m, /^(Delivery failed \d{1,3} attempts): /m],
  },
  {
    program: 'RS',
    failed: /^Delivery of email to this address$/m,
    replies: [/^has failed due to (a full mailbox)/m],
  },
  {
    program: 'Smail',
    failed: /^\|-{1,60} Failed addresses follow: -{1,60}\|$/m,
    replies: [/^\|-{1,60} Failed addresses follow: -{1,60}\|\n[^\n]{1,320}? \.\.\. ([^\n]{1,500})/m],
  },
];

/**
 * Words of a warning: the server keeps trying. Sources: Exim's `warn_message_file`, Postfix's `bounce.cf`, Sendmail's
 * `queuewarning`, OpenSMTPD's `bounce.c`, and the samples above of Gmail and Zoho.
 */
const WARNING =
  /this is a warning (?:message )?only|has not yet been delivered|this is only a temporary failure report|delivery attempts will continue|following recipients? has been delayed|will be retried (?:until|for)/i;

/** Whether a text only says that a message is late. */
export const isWarning = (text: string): boolean => WARNING.test(text);
