/** What somebody may call a team, a customer or an event, so that a page does what they want. */
export const HOSTILE = {
  /** Markup that runs, wherever it is taken for markup. */
  script: `<script>alert('team')</script>`,
  image: `cus_<img src=x onerror="alert('customer')">`,
  attribute: `evt_"'><svg onload=alert('event')>`,
  entity: '&lt;b&gt; &amp;amp; is no markup either',
  /** Turns the direction of what follows, and would make it another name. */
  rightToLeft: 'Invoice \u202Egpj.exe \u05D0\u05D1\u05D2 \u0627\u0644\u0641\u0631\u064A\u0642',
  /** 10 kB without a place to break. */
  long: 'W'.repeat(10_000),
};
