"""A language model as another reader, through any OpenAI-compatible server.

From outside: chat_server, free_sql, llm, llm_summary, model_setting, other_data_llm, other_data_prompt, server_check.
"""
