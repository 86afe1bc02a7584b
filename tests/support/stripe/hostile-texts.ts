/** Names of teams, customers and events that attack a page. */
export const HOSTILE = {
  /** Markup that runs a script if it is not escaped. */
  script: `<script>alert('team')</script>`,
  image: `cus_<img src=x onerror="alert('customer')">`,
  attribute: `evt_"'><svg onload=alert('event')>`,
  entity: '&lt;b&gt; &amp;amp; is no markup either',
  /** Reverses the writing direction of the text after it. */
  rightToLeft: 'Invoice \u202Egpj.exe \u05D0\u05D1\u05D2 \u0627\u0644\u0641\u0631\u064A\u0642',
  /** 10 kB without a line break opportunity. */
  long: 'W'.repeat(10_000),
};
