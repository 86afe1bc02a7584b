/** Acts like a browser: keeps cookies and sends forms. */
export class Operator {
  readonly cookies = new Map<string, string>();
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Does not follow redirects. */
  async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return await this.#send(path, { headers: { accept: 'text/html', ...headers } });
  }

  /** Sends a form with the headers of a same-origin request. */
  async post(
    path: string,
    fields: Record<string, string> | [string, string][],
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return await this.#send(path, {
      method: 'POST',
      headers: { accept: 'text/html', origin: this.#url, ...headers },
      body: new URLSearchParams(fields),
    });
  }

  async logIn(token: string, next = '/'): Promise<Response> {
    return await this.post('/login', { token, next });
  }

  async #send(path: string, request: RequestInit): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(this.#url + path, {
      ...request,
      redirect: 'manual',
      headers: { ...request.headers, ...(cookie && { cookie }) },
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}
