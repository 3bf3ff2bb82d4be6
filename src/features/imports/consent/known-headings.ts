/** The headings about subscriptions in the exports of other tools, as plain data. */

/** Whose subscription a column is about. */
export type ConsentChannel = 'all' | 'email' | 'phone';

/**
 * How the cells of a column are read.
 *
 * - `positive`: yes is a subscription. `inverse`: yes ends one. Both may have words of states or dates instead.
 * - `confirmed`: yes is a subscription, no waits for its confirmation.
 * - `ambiguous`: about consent only if all words are those of one tool's states.
 * - `bounced`, `complained`: yes, a date or another text says so.
 * - `opted_out`: any text but a no says so, such as a date or a reason.
 * - `opted_in_at`: the time of the opt-in, which does not subscribe by itself.
 */
export type ConsentKind =
  'positive' | 'inverse' | 'confirmed' | 'ambiguous' | 'bounced' | 'complained' | 'opted_out' | 'opted_in_at';

export interface ConsentHeading {
  channel: ConsentChannel;
  kind: ConsentKind;
}

type Headings = Readonly<Partial<Record<ConsentChannel, readonly string[]>>>;

/** Headings in the form of {@link simplified}. The comments name tools that have them. */
export const knownHeadings: Readonly<Record<ConsentKind, Headings>> = {
  positive: {
    all: [
      // Carillon, Mailgun, Loops, AWeber, MailerLite
      ...[
        'subscribed',
        'issubscribed',
        'optin',
        'optedin',
        'subscriptionstatus',
        'subscriberstatus',
        'subscribestatus',
      ],
      // Shopify before 2022, Squarespace, Podia
      ...[
        'acceptsmarketing',
        'acceptmarketing',
        'marketing',
        'marketingoptin',
        'marketingconsent',
        'personmarketingstatus',
        'marketingstatus',
      ],
      // Pipedrive, HubSpot, Kajabi, Attentive
      ...['marketingpermission', 'marketingcontactstatus', 'marketingsubscription', 'optinstatus', 'consent'],
      ...['consentstatus', 'consentstate', 'gdprconsent', 'permission', 'permissionstatus'],
    ],
    email: [
      // Carillon; Shopify; WooCommerce; Braze; Segment
      ...['subscribedemail', 'emailsubscribed', 'emailoptin', 'emailoptedin', 'acceptsemailmarketing'],
      ...['emailmarketingconsent', 'emailmarketingconsentstate', 'emailsubscribe', 'emailsubscriptionstatus'],
      // Ghost; Wix; Omnisend; Constant Contact; BigCommerce
      ...[
        'subscribedtoemails',
        'subscribedtoemail',
        'emailsubscriberstatus',
        'emailstatus',
        'emailpermissionstatus',
      ],
      ...[
        'emailmarketing',
        'emailmarketingstatus',
        'emailmarketingoptin',
        'emailconsent',
        'emailconsentstatus',
      ],
      ...['receivemarketingemails', 'receivesmarketingemails', 'receivemarketingemail', 'emailpermission'],
      ...[
        'marketingemails',
        'marketingemail',
        'newsletter',
        'newslettersubscribed',
        'newsletterconsent',
        'newsletterstatus',
        'mailinglist',
      ],
      ...['newslettersubscription', 'newslettersubscriptionstatus', 'canemail', 'emailallowed', 'allowemail'],
    ],
    phone: [
      ...['subscribedphone', 'phonesubscribed', 'subscribedsms', 'smssubscribed', 'smsoptin', 'smsoptedin'],
      ...['acceptssmsmarketing', 'smsmarketingconsent', 'smsconsent', 'smsconsentstatus', 'smsstatus'],
      ...[
        'smssubscriberstatus',
        'smssubscriptionstatus',
        'smsmarketing',
        'smsmarketingstatus',
        'smspermission',
      ],
      ...[
        'smsmarketingoptin',
        'textoptin',
        'textmarketing',
        'phoneoptin',
        'phoneconsent',
        'smsmarketingconsentstate',
      ],
    ],
  },
  inverse: {
    all: [
      // Resend, Customer.io, Intercom, Marketo; Odoo, SuiteCRM, Zoho, Vtiger; phpList; Pardot
      ...[
        'unsubscribed',
        'isunsubscribed',
        'unsubscribe',
        'unsub',
        'optout',
        'optedout',
        'hasoptedout',
        'opted out',
      ],
      ...[
        'blacklisted',
        'blocklisted',
        'blacklist',
        'blocklist',
        'isblacklisted',
        'suppressed',
        'issuppressed',
      ],
      ...[
        'donotcontact',
        'dnc',
        'dnd',
        'marketingsuspended',
        'isexcludedfromcampaigns',
        'unsubscribedfromall',
      ],
      ...['globalunsubscribe', 'globallyunsubscribed', 'suppression', 'suppressionreason', 'marketingoptout'],
    ],
    email: [
      // Brevo; HubSpot; Salesforce; Dynamics; Substack; Teachable
      ...['emailblacklisted', 'emailblocklisted', 'unsubscribedfromallemail', 'unsubscribedfromallemails'],
      ...['hsemailoptout', 'emailoptout', 'emailoptedout', 'hasoptedoutofemail', 'personhasoptedoutofemail'],
      ...['optedoutofemail', 'donotemail', 'donotbulkemail', 'donotallowbulkemails', 'donotallowbulkemail'],
      ...[
        'donotallowemails',
        'emaildisabled',
        'emailunsubscribed',
        'unsubscribedfromemail',
        'unsubscribedfromemails',
      ],
      ...['unsubscribedfrommarketingemails', 'unsubscribefrommarketingemails', 'emailsuppressed'],
      // Klaviyo: a list of reasons
      ...['emailsuppressions', 'emailsuppression', 'noemail', 'donotmail', 'dne', 'dnm'],
    ],
    phone: [
      ...[
        'smsblacklisted',
        'smsblocklisted',
        'smsoptout',
        'smsoptedout',
        'unsubscribedfromsms',
        'smsunsubscribed',
      ],
      ...[
        'hasoptedoutofsms',
        'donottext',
        'donotsms',
        'smssuppressed',
        'smssuppressions',
        'donotcall',
        'phoneoptout',
      ],
    ],
  },
  confirmed: {
    // phpList; Brevo; HubSpot; The Newsletter Plugin
    all: [
      'confirmed',
      'isconfirmed',
      'doubleoptin',
      'doubleoptinstatus',
      'doi',
      'doistatus',
      'optinconfirmed',
    ],
    email: ['emailconfirmed', 'marketingemailconfirmation', 'marketingemailconfirmationstatus'],
  },
  ambiguous: {
    all: [
      'status',
      'type',
      'state',
      'contactstatus',
      'memberstatus',
      'subscription',
      'subscribertype',
      'contacttype',
      // the same in other languages
      ...[
        'statut',
        'estado',
        'estatus',
        'stato',
        'stav',
        'stan',
        'durum',
        'kontaktstatus',
        'empfängerstatus',
      ],
      ...['статус', 'ステータス', '状態', '状态', '狀態', '상태'],
    ],
    email: [],
  },
  bounced: {
    // Intercom; HubSpot; Marketo; Eloqua; Mailchimp
    email: [
      ...[
        'bounced',
        'isbounced',
        'hardbounced',
        'hashardbounced',
        'emailbounced',
        'isemailbounced',
        'cleantime',
      ],
      ...['cleancampaigntitle', 'cleancampaignid', 'cleaned', 'invalidemailaddress', 'hsemailbadaddress'],
      ...['emailinvalid', 'emailhardbouncereason', 'hsemailhardbouncereason', 'hsemailhardbouncereasonenum'],
      ...['emailbouncedreason', 'emailbounceddate', 'hardbouncedat', 'bouncedat', 'emailhardbounced'],
    ],
  },
  complained: {
    email: [
      'markedemailasspam',
      'complained',
      'complainedat',
      'spamcomplaint',
      'markedasspam',
      'spamreported',
    ],
  },
  opted_out: {
    all: [
      // Mailchimp; Constant Contact; Kit, beehiiv, Buttondown; AWeber; The Newsletter Plugin; MailUp
      ...[
        'unsubtime',
        'unsubcampaigntitle',
        'unsubcampaignid',
        'unsubreason',
        'unsubreasonother',
        'unsubscribedat',
      ],
      ...['unsubscribedon', 'unsubscribetime', 'unsubscribetimestamp', 'unsubscribedate', 'unsubscribeddate'],
      ...[
        'dateunsubscribed',
        'unsubscriptiondate',
        'unsubscribereason',
        'unsubscribedreason',
        'unsubscriptionreason',
      ],
      ...[
        'optoutdate',
        'optouttime',
        'optouttimestamp',
        'optoutat',
        'optedoutat',
        'optedouton',
        'optouttype',
      ],
      ...[
        'dateoptedout',
        'confirmedoptoutdate',
        'confirmedoptoutreason',
        'optoutreason',
        'stoptime',
        'suppressedat',
      ],
      ...[
        'unsubemailid',
        'optoutnl',
        'optoutsubtype',
        'consentwithdrawnat',
        'consentrevokedat',
        'abmeldedatum',
        'blacklistedat',
        'blocklistedat',
      ],
    ],
    email: ['emailsuppressionstimestamp', 'emailoptoutdate', 'emailunsubscribedat', 'emailoptouttime'],
    phone: ['smssuppressionstimestamp', 'smsoptoutdate', 'smsunsubscribedat', 'smsoptouttime'],
  },
  opted_in_at: {
    all: [
      ...['optintime', 'confirmtime', 'optindate', 'optinat', 'optedinat', 'optedinon', 'optintimestamp'],
      ...[
        'confirmedoptindate',
        'subscribedat',
        'subscribedon',
        'subscribeddate',
        'datesubscribed',
        'subscribedate',
      ],
      ...[
        'subscriptiondate',
        'subscribersince',
        'confirmedat',
        'confirmationtime',
        'confirmationdate',
        'consentdate',
      ],
      ...['consentedat', 'consentgivenat', 'consenttimestamp', 'consentupdatedat', 'anmeldedatum'],
    ],
    email: [
      ...['emailmarketingconsenttimestamp', 'emailmarketingconsentupdatedat', 'emailconsenttimestamp'],
      ...['emailoptindate', 'emailconsentdate', 'emailoptinat', 'emailoptintime', 'emailsubscribedat'],
    ],
    phone: [
      ...[
        'smsmarketingconsenttimestamp',
        'smsconsenttimestamp',
        'smsoptindate',
        'smsconsentdate',
        'smsoptinat',
      ],
      ...['smsmarketingconsentupdatedat', 'smsoptintime', 'smssubscribedat'],
    ],
  },
};
