/**
 * Words in replies and reports, which decide if a code says nothing. They are matched against a text in lower case.
 * No pattern has a repetition inside a repetition, so the time to search is linear.
 *
 * Beside the English of all mail servers, each list has the languages in which large providers and appliances write:
 * Orange and La Poste (French), T-Online, GMX and appliances of German universities (German), Terra and Telefónica
 * (Spanish), Libero, Aruba and TIM (Italian), UOL, Locaweb and Sapo (Portuguese), KPN (Dutch), Onet and WP (Polish),
 * Seznam (Czech), Mail.ru and Yandex (Russian), QQ and NetEase (Chinese), docomo, au and SoftBank (Japanese). The words of
 * policies, which protect recipients, are known in Turkish, Korean and the languages of the Nordic countries, too.
 */

/** One pattern out of several, which may be many. */
const anyOf = (...patterns: readonly RegExp[]): RegExp =>
  new RegExp(patterns.map(({ source }) => source).join('|'), 'u');

/** Why a server refuses this sender or this content, independent of the recipient. */
const policy = anyOf(
  /spam|polic(?:y|ies)|block|(?:black|deny|gr[ea]y)[ -]?list|\b(?:dns|uri|s|p)?[rb]bl\b|reputation|\bspf\b|\bdkim\b|\bdmarc\b/u,
  /relaying|(?:not|to) relay|relay (?:not|access|denied|attempt)|junk|virus|malware|phish|\bban(?:ned)?\b|prohibit/u,
  /not (?:allowed|permitted|authori[sz]ed)|authenticat|access denied|(?<!not )listed (?:in|at|by|on)|reverse dns|\bptr\b/u,
  // A link to an explanation has the address as a parameter, whatever the reason.
  /\bip\b(?!=)|resource record|\bdns mx\b|\bbulk\b|\bu[bc]e\b|advert|(?:white|allow|safe)[ -]?list|known contacts|only accepts|sender verif|callout|\barc\b/u,
  /sender|unsolicited|rate limit|too many|content reject|\bfrom:|valid from\b/u,
  // The relay's own account, its limits and its connection; a part of the message.
  /\byour (?:account|ip\b|server|host|domain|client|network)|\bsending\b|\boutgoing\b|\boutbound\b|account you use/u,
  /\b(?:hourly|daily|monthly|connection|message) (?:\w{1,20} )?limit|\btls\b|\bhelo\b|\behlo\b|certificate|\bheader|attachment/u,
  // German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Chinese, Japanese.
  /richtlinie|unerwünscht|absender|indésirable|expéditeur|remitente|no deseado|mittente|indesiderat|remetente|afzender/u,
  /nadawc|odesílatel|gönderen|gönderici|avsändar|afsender|lähettäj|спам|отправител|垃圾|发件人|寄件者|迷惑|送信者|발신자|스팸/u,
  // Access denied, too many messages, greylisting, a virus, an attachment that is not allowed.
  /zugriff verweigert|accès refusé|acceso denegado|accesso negato|acesso negado|toegang geweigerd|odmowa dostępu|přístup odepřen|erişim engellen/u,
  /доступ (?:запрещ|закрыт)|访问被?拒|存取被拒|アクセス.{0,8}拒否|액세스.{0,8}거부/u,
  /zu viele|trop de|demasiad[oa]s|troppi|muit[ao]s mensagens|te veel|zbyt wiele|příliš mnoho|слишком много|太多|過多|多すぎ/u,
  /liste grise|lista gris|lista grigia|lista cinza|вирус|病毒|ウイルス|ウィルス|바이러스|nicht erlaubt|interdit|no permitid|non consentit|não permitid|niet toegestaan|niedozwolon|nepovolen|запрещ|禁止/u,
  /forbidden|suspicious|members only|from members|not subscribed|\bbatv\b|bounce address|dnssec|pregreet|emails per hour/u,
  // A list of blocked addresses.
  /sperrliste|schwarze[nr]? liste|liste noire|lista (?:negra|nera)|zwarte lijst|czarn\w{1,5} li[sś]|černé\w{0,3} listin|kara liste/u,
  /estolist|svart(?:a )?list|(?:ч[её]рн\S{1,4}) спис|黑名单|黑名單|封锁|ブラックリスト|블랙리스트/u,
  /werbung|reklama|реклам|политик|zásad|ilke|polític|polityk|politic[ao]|广告|频率|規制|정책/u,
);

/**
 * The message itself was refused or blocked. If the reply also names a fault of the recipient, that counts: `message
 * rejected: user unknown`.
 */
const refused = anyOf(
  /filter|administrative|restrict|frequency|content denied|this country|network messages|\burls?\b[^.]{0,40} listed/u,
  /(?:message|mail|content|connection|session) (?:(?:was|is|has been) )?(?:rejected|refused|denied|not accepted)|(?:rejected|refused) (?:your|this|the) (?:message|mail)/u,
  /nachricht[^.]{0,20} (?:abgelehnt|abgewiesen|gesperrt|verweigert)|message[^.]{0,20} (?:refusé|rejeté|bloqué)|mensaje[^.]{0,20} (?:rechazad|bloquead|denegad)/u,
  /messaggio[^.]{0,20} (?:rifiutat|respint|bloccat)|mensage[mn][^.]{0,20} (?:recusad|rejeitad|bloquead)|bericht[^.]{0,20} (?:geweigerd|geblokkeerd|afgewezen)/u,
  /wiadomo[śs][ćc][^.]{0,20} (?:odrzucon|zablokowan)|zpráva[^.]{0,20} (?:odmítnut|zablokován|blokován)|odmítnuto/u,
  /(?:сообщение|письмо)[^.]{0,20} (?:отклонен|отвергнут|заблокирован)|(?:mesaj|i\u0307?leti|e-?posta)[^.]{0,20} (?:reddedil|engellen)/u,
  /meddelande[^.]{0,20} (?:avvisa|blocker|nekad)|viesti[^.]{0,20} (?:hylät|estet)|(?:besked|melding)\w{0,3}[^.]{0,20} (?:afvist|avvist|blokeret|blokkert)/u,
  /(?:邮件|郵件|信件|连接|連線)[^。.]{0,8}(?:被拒|拒绝|拒絕|拦截|攔截|屏蔽)|(?:メール|受信|接続)[^。.]{0,12}(?:拒否|ブロック)|(?:메시지|메일|편지)[^.]{0,12}(?:차단|거부)/u,
);

/** A fault of the server. If the reply also names one of the recipient, that counts. */
const serverFault = anyOf(
  /local error|system resources|server error|unavailable database|database (?:is )?unavailable|lookup (?:failure|failed|error)|service (?:is )?(?:not available|unavailable)/u,
  /connection (?:dropped|lost|refused|reset|timed out)|timed? ?out|routing loop|mail loop|too many hops|out of office|перегружен|überlastet|surchargé|sobrecargad|sovraccaric|overbelast/u,
);

/** The refusal passes, whatever its code says. */
const temporary = anyOf(
  /temporar|try (?:again )?later|retry later|later again|maintenance|too busy|\bbusy\b|overload/u,
  /vorübergehend|später (?:erneut|noch|wieder)|wartung|temporairement|plus tard|temporalmente|más tarde|temporaneament|più tardi|temporariamente|mais tarde/u,
  /tijdelijk|later opnieuw|tymczasow|później|dočasn|později|временн|позже|geçici|tillfällig|väliaikai|midlertidig|暂时|暫時|稍后|稍後|一時的|後ほど|일시적|나중에/u,
);

/** A part of a reply is about the sender, so what it calls unknown is not the recipient. */
const sender =
  /sender|sending|sent from|\bmail from\b|\bfrom:|callout|your (?:address|domain)|envelope from|absender|expéditeur|remitente|mittente|remetente|afzender|nadawc|odesílatel|отправител|gönderen|发件人|寄件者|送信者/u;

/** Servers use this phrase of RFC 5321, section 4.2.3, for every refusal with 550. */
const STANDARD = /requested (?:mail )?action not taken: mailbox unavailable/gu;

/** A reply without its parts about the sender, and without a phrase that says nothing beside another reason. */
export const aboutRecipient = (text: string): string =>
  text
    .replace(STANDARD, ' ')
    .split(/[.;()]/)
    .filter((part) => !sender.test(part))
    .join('.');

/** The mailbox has no room. */
const full = anyOf(
  /over ?-?quota|quota (?:is )?(?:exceeded|full)|exceed\w{0,3} (?:the |his |her |its |their |storage |disk |mailbox )?(?:quota|storage)/u,
  /(?:mailbox|inbox|account)(?: is)?(?: almost)? full|mailbox (?:size )?(?:limit )?exceeded|out of storage/u,
  /storage (?:is )?(?:full|limit)|exceeded storage allocation|not enough (?:disk )?space|exceed\w{0,3} mailbox size/u,
  /mailbox for [^ ]{1,255} is full|mailbox exceeds allowed size|mail quota|mailbox size limit|full mailbox|mail ?folder is full/u,
  /quota usage exceeded|(?:diskspace|disk) quota|not (?:have )?enough (?:storage |disk )?space|recipient's mailbox exceeded/u,
  /postfach (?:ist )?(?:voll|überfüllt)|(?:boîte|boite)(?: aux lettres)?(?: est)? pleine|quota (?:dépassé|depasse)/u,
  /(?:buz[oó]n|mailbox|casilla) (?:est[aá] )?llen[oa]|casilla de (?:mail|correo) agotad[oa]|cuota excedida|casella (?:è )?piena|caixa (?:postal )?(?:est[aá] )?cheia/u,
  /mailbox (?:is )?vol\b|skrzynka (?:jest )?(?:pełna|przepełniona)|schránka (?:je )?plná|ящик (?:переполнен|полон)/u,
  /(?:邮箱|郵箱|空间|空間|容量)(?:已|不)(?:满|滿|足)|容量.{0,12}(?:超え|超過|いっぱい)|メールボックス.{0,12}(?:いっぱい|満杯)/u,
);

/** The message is larger than the server takes. */
const size = anyOf(
  /too (?:large|big)\b|(?:message|mail|line|data|content)[^.]{0,40} too long|message size|(?:size|length) (?:exceeds|limit)/u,
  /exceeds (?:the )?(?:maximum|fixed|size|limit)|message length|nachricht (?:ist )?zu gro(?:ß|ss)|message trop (?:gros|volumineux)/u,
  /mensaje demasiado grande|messaggio troppo grande|mensagem (?:é )?muito grande|слишком больш|邮件过大|サイズ.{0,12}(?:超え|超過)/u,
  /te groot|za duż|příliš velk|çok büyük|för stor|for stor|liian suuri|trop lourd|大小超|過大|大きすぎ|너무 큽/u,
);

/** The mailbox no longer exists, or is switched off. */
const disabled = anyOf(
  /(?:account|mailbox|user|address|recipient)(?: has been| is| was)? (?:disabled|inactive|suspended|deactivated|discontinued|closed|terminated)/u,
  /(?:disabled|inactive|suspended) (?:account|mailbox|user|recipient)|no longer (?:active|available|valid|in use|accept)/u,
  /tried to reach is (?:inactive|disabled)|user is terminated|mailbox not active|mailbox is (?:frozen|locked)|due to inactivity/u,
  /(?:konto|postfach|benutzer)(?: ist| wurde)? (?:deaktiviert|gesperrt|stillgelegt|gelöscht)|bo[iî]te[^.]{0,40}archivee|compte (?:bloqué|désactivé|suspendu|fermé)/u,
  /cuenta (?:deshabilitada|desactivada|suspendida|inactiva)|casilla ha expirado|(?:casella|utente|account) (?:disabilitat|disattivat|sospes|scadut)/u,
  /conta (?:desativada|suspensa|inativa|cancelada)|(?:ящик|аккаунт|пользователь) (?:заблокирован|отключ|удал)|(?:帐号|账号|用户)已(?:停用|禁用|冻结)/u,
);

/** There is no such mailbox. */
const unknown = anyOf(
  /no such (?:user|mailbox|recipient|address|person|account|local)|(?:user|recipient|mailbox|address|addressee|account|alias|userid)(?: is| was)? (?:unknown|invalid|not (?:found|known|valid)(?! (?:in|on) (?:the |our |a )?(?:white|allow|safe)))/u,
  /(?:unknown|invalid|nonexistent|non-existent) (?:user|recipient|mailbox|address|account|local|virtual|or )/u,
  /(?:does not|doesn't|do not|not) exist|no mailbox|no account|mailbox (?:is )?(?:unavailable|not available)(?! due| at (?:this|the))|unrouteable address/u,
  /does(?: not|n't) have an? [^ ]{1,80} account|not a (?:valid|known) (?:user|mailbox|recipient|address)|not our (?:user|customer)/u,
  /recipient name is not recognized|invalid final delivery userid|not (?:listed )?in (?:[^ .]{1,40} ){0,3}(?:directory|address book)|\brecip(?:ient)?notfound/u,
  /(?:empfänger|benutzer|postfach|adresse|konto)(?: ist)? (?:unbekannt|nicht (?:bekannt|vorhanden|gefunden))|unbekannte[rs]? (?:benutzer|empfänger|adresse)|existiert nicht/u,
  /destinataire[s]? (?:inconnu|invalide)|utilisateur inconnu|adresse[^.]{0,40} (?:invalide|inconnue)|n['’ ]existe pas/u,
  /(?:usuario|destinatario|buz[oó]n|cuenta|direcci[oó]n) (?:desconocid|inexistente|no (?:existe|encontrad|v[aá]lid))/u,
  /(?:utente|destinatario|casella|indirizzo) (?:sconosciut|inesistente|non (?:esiste|trovat|valid))/u,
  /(?:usu[aá]rio|destinat[aá]rio|caixa|conta|endere[cç]o) (?:desconhecid|inexistente|inv[aá]lid|n[aã]o (?:existe|encontrad))/u,
  /(?:gebruiker|ontvanger|mailbox|adres) (?:is )?(?:onbekend|niet gevonden)|bestaat niet|nie istnieje|nieznany (?:użytkownik|odbiorca|adres)|neexistuje|neznámý (?:uživatel|příjemce)/u,
  /(?:пользовател|получател|ящик|адрес|аккаунт)[^.]{0,40} (?:не найден|не существует|неизвест|отсутствует)|нет такого (?:пользователя|ящика)/u,
  /(?:收件人|收件者|用户|用戶|邮箱|郵箱|帐号|账号)(?:地址)?(?:不存在|未找到|未知)|(?:宛先|受信者|ユーザ|アドレス).{0,16}(?:存在しません|見つかりません|不明)/u,
);

/** There is no such domain. */
const noDomain =
  /(?:domain|host)(?: name)?(?: [^ ]{1,255})? (?:is )?(?:unknown|not found|invalid|does not exist)|no such (?:domain|host)|unknown (?:domain|host)|unrouteable mail domain|invalid domain|domain is not reachable|no mx record|name or service not known|non-existent hosts|nxdomain/u;

export const words = {
  policy,
  refused,
  serverFault,
  temporary,
  full,
  size,
  disabled,
  unknown,
  noDomain,
  nullMx: /null ?mx/u,
  rate: /\brate\b|too (?:many|quickly|fast)/u,
  /** Microsoft's reply for an address that is not in the recipient's directory. */
  accessDenied: /recipient address(?:es)? rejected ?: ?access denied/u,
} as const;
