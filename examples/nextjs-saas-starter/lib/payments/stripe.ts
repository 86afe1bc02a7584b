import Stripe from 'stripe';

const api = new URL(process.env.STRIPE_API_BASE ?? 'https://api.stripe.com');

export const stripe = () =>
  new Stripe(process.env.STRIPE_SECRET_KEY ?? '', {
    host: api.hostname,
    port: api.port === '' ? 443 : Number(api.port),
    protocol: api.protocol === 'http:' ? 'http' : 'https',
  });
