export { GET } from '@/lib/payments/instep';
